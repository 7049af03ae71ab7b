Feature: Surviving a crash
  Agents crash, and machines stop in the middle of a line. What was acknowledged is still there
  afterwards; what was cut off is ignored, and does not get in the way of what comes next.

  Background:
    Given the agent "sage" with id "sage-1"
    And the agent "warden" with id "warden-1"

  @id:story/acknowledged-is-kept @shows:CHRONICLE-008
  Scenario: An agent is killed right after its event was acknowledged
    When "chronicle.appendEvent" is called in process "b" with:
      """
      {
        "path": "Foo.ts.sage",
        "event": {
          "type": "NOTE",
          "timestamp": "2024-01-01T12:00:00.000Z",
          "actor": { "agent": "warden", "id": "warden-1" }
        }
      }
      """
    And process "b" is killed
    Then reading "Foo.ts.sage" gives 1 events
    And event 1 of "Foo.ts.sage" is a "NOTE" by "warden-1"

  @id:story/half-a-line @shows:CHRONICLE-018
  Scenario: A line was cut in half, and what stands before it is read
    Given the file "whole.sage" holds:
      """
      {"type":"DRAFTED","timestamp":"2024-01-01T12:00:00.000Z","actor":{"agent":"sage","id":"sage-1"}}
      """
    And the file "torn.sage" holds the unfinished text:
      """
      {"type":"DRAFTED","timestamp":"2024-01-01T12:00:00.000Z","actor":{"agent":"sage","id":"sage-1"}}
      {"type":"REVISED","timestamp":"2024-01-01T12:1
      """
    When "chronicle.readChronicle" is called with:
      """
      { "path": "whole.sage" }
      """
    And its answer is remembered as "whole"
    And "chronicle.readChronicle" is called with:
      """
      { "path": "torn.sage" }
      """
    Then it returns:
      """
      { "$ref": "whole" }
      """

  @id:story/half-a-line-and-on @shows:CHRONICLE-019
  Scenario: A line was cut in half, and the work goes on
    Given the file "torn.sage" holds the unfinished text:
      """
      {"type":"DRAFTED","timestamp":"2024-01-01T12:00:00.000Z","actor":{"agent":"sage","id":"sage-1"}}
      {"type":"REVISED","timestamp":"2024-01-01T12:1
      """
    When "sage-1" appends a "REVISED" event at "2024-01-01T12:05:00.000Z" to "other.sage"
    And "sage-1" appends a "REVISED" event at "2024-01-01T12:10:00.000Z" to "torn.sage"
    Then the append is acknowledged
    And reading "torn.sage" gives 2 events

  @id:story/a-spoilt-line-in-the-middle @shows:CHRONICLE-020
  Scenario: A line in the middle was spoilt, and the rest of the story is still told
    Given the file "whole.sage" holds:
      """
      {"type":"DRAFTED","timestamp":"2024-01-01T12:00:00.000Z","actor":{"agent":"sage","id":"sage-1"}}
      {"type":"APPROVED","timestamp":"2024-01-01T12:20:00.000Z","actor":{"agent":"sage","id":"sage-1"}}
      """
    And the file "spoilt.sage" holds:
      """
      {"type":"DRAFTED","timestamp":"2024-01-01T12:00:00.000Z","actor":{"agent":"sage","id":"sage-1"}}
      {"type":"REVISED","timest####
      {"type":"APPROVED","timestamp":"2024-01-01T12:20:00.000Z","actor":{"agent":"sage","id":"sage-1"}}
      """
    When "chronicle.readChronicle" is called with:
      """
      { "path": "whole.sage" }
      """
    And its answer is remembered as "whole"
    And "chronicle.readChronicle" is called with:
      """
      { "path": "spoilt.sage" }
      """
    Then it returns:
      """
      { "$ref": "whole" }
      """
