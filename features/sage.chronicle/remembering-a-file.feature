Feature: Remembering a file
  Every file has a memory: a log beside it, to which agents add what they did, one event a line.
  Nothing in it is ever changed, and whoever comes later reads the story from its beginning.

  Background:
    Given the agent "sage" with id "sage-1"
    And the agent "warden" with id "warden-1"
    And the folder "src" exists

  @id:story/a-file-gets-a-memory @shows:CHRONICLE-001
  Scenario: A note is added, reviewed, and both are remembered
    When "sage-1" appends a "NOTE" event at "2024-01-01T12:00:00.000Z" to "src/Foo.ts.sage" with:
      """
      { "name": "greet", "lines": [3, 9], "tags": ["refactor", "typescript"] }
      """
    And "warden-1" appends a "REVIEWED" event at "2024-01-01T12:05:00.000Z" to "src/Foo.ts.sage"
    And "chronicle.readChronicle" is called with:
      """
      { "path": "src/Foo.ts.sage" }
      """
    Then it returns:
      """
      {
        "$unordered": [
          { "$open": { "type": "NOTE", "actor": { "agent": "sage", "id": "sage-1" }, "name": "greet", "lines": [3, 9] } },
          { "$open": { "type": "REVIEWED", "actor": { "agent": "warden", "id": "warden-1" } } }
        ]
      }
      """

  @id:story/the-latest-first-of-all @shows:CHRONICLE-024
  Scenario: An agent that comes in later looks at the latest event only
    When "sage-1" appends a "DRAFTED" event at "2024-01-01T12:00:00.000Z" to "src/Foo.ts.sage"
    And "sage-1" appends a "REVISED" event at "2024-01-01T12:10:00.000Z" to "src/Foo.ts.sage"
    And "warden-1" appends a "APPROVED" event at "2024-01-01T12:20:00.000Z" to "src/Foo.ts.sage"
    Then the last 1 events of "src/Foo.ts.sage" are:
      """
      [{ "$open": { "type": "APPROVED" } }]
      """

  @id:story/an-event-has-a-name-of-its-own @shows:CHRONICLE-011
  Scenario: An event gets an id that everybody can compute again
    When "sage-1" appends a "NOTE" event at "2024-01-01T12:00:00.000Z" to "src/Foo.ts.sage" with:
      """
      { "name": "greet" }
      """
    And "chronicle.readChronicle" is called with:
      """
      { "path": "src/Foo.ts.sage" }
      """
    And "chronicle.readChronicle" is called with:
      """
      { "path": "src/Foo.ts.sage" }
      """
    Then it returns:
      """
      {
        "$each": {
          "$open": { "eventId": { "$optional": "60e722a367666f8b6f4dea0790c13d1c1faca5f3333b8d3001b5e78bc4c8842c" } }
        }
      }
      """

  @id:story/the-past-stays-as-it-was-written @shows:CHRONICLE-006
  Scenario: What an older program wrote stays as it was written, byte by byte
    Given the file "src/Foo.ts.sage" holds:
      """
      { "type":"IMPORTED",  "timestamp":"2023-06-01T00:00:00.000Z", "actor":{ "agent":"valve", "id":"valve-1" } }
      """
    When "sage-1" appends a "NOTE" event at "2024-01-01T12:00:00.000Z" to "src/Foo.ts.sage"
    Then the file "src/Foo.ts.sage" begins with:
      """
      { "type":"IMPORTED",  "timestamp":"2023-06-01T00:00:00.000Z", "actor":{ "agent":"valve", "id":"valve-1" } }
      """

  @id:story/nobody-did-it @shows:CHRONICLE-047
  Scenario: An event that nobody did is not remembered
    When "sage-1" appends a "NOTE" event at "2024-01-01T12:00:00.000Z" to "src/Foo.ts.sage"
    When "chronicle.appendEvent" is called with:
      """
      { "path": "src/Foo.ts.sage", "event": { "type": "NOTE", "timestamp": "2024-01-01T12:00:00.000Z" } }
      """
    Then it fails with EVALIDATION
