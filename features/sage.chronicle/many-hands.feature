Feature: Many hands
  Several agents work on one file at the same time. Their events are put in a line, each of them
  whole, and none gets lost.

  Background:
    Given the agent "sage" with id "sage-1"
    And the agent "warden" with id "warden-1"

  @id:story/two-agents-at-once @shows:CHRONICLE-031
  Scenario: Two agents write into one log at once
    When "sage-1" and "warden-1" each append 10 "NOTE" events to "log.sage" at once
    Then reading "log.sage" gives 20 events

  @id:story/each-file-for-itself @shows:CHRONICLE-010 @shows:CHRONICLE-033
  Scenario: Two agents write into two logs at once
    When these calls are made together:
      | call                  | args                                                                                                                                         |
      | chronicle.appendEvent | { "path": "a.sage", "event": { "type": "NOTE", "timestamp": "2024-01-01T12:00:00.000Z", "actor": { "agent": "sage", "id": "sage-1" } } }     |
      | chronicle.appendEvent | { "path": "b.sage", "event": { "type": "NOTE", "timestamp": "2024-01-01T12:00:00.000Z", "actor": { "agent": "warden", "id": "warden-1" } } } |
    Then reading "a.sage" gives 1 events
    And event 1 of "a.sage" is a "NOTE" by "sage-1"
    And reading "b.sage" gives 1 events
    And event 1 of "b.sage" is a "NOTE" by "warden-1"

  @id:story/a-retry-does-no-harm @shows:CHRONICLE-016
  Scenario: An agent that did not hear the answer says it again
    When "sage-1" appends a "NOTE" event at "2024-01-01T12:00:00.000Z" to "log.sage"
    When "sage-1" appends a "NOTE" event at "2024-01-01T12:00:00.000Z" to "log.sage"
    Then the append is acknowledged
    And event 1 of "log.sage" is a "NOTE" by "sage-1"
