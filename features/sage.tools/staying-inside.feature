Feature: Staying inside
  An agent works in its workspace. What lies beside it, and the memory in .sage/, it cannot touch,
  whichever road it takes.

  Background:
    Given the permission "Write"
    And the file "../outside/keys.txt" holds:
      """
      theirs
      """

  @id:story/up-and-out @shows:TOOLS-093
  Scenario: Two dots lead up, and not out
    When the tool "Write" is run with:
      """
      { "file": "../outside/keys.txt", "content": "mine" }
      """
    Then the tool is refused with EPERMISSION
    And the file "../outside/keys.txt" holds:
      """
      theirs
      """

  @id:story/a-link-that-looks-harmless @shows:TOOLS-093
  Scenario: A link that somebody left in the workspace leads out
    Given the file "notes.txt" is a symlink to "../outside/keys.txt"
    When the tool "Write" is run with:
      """
      { "file": "notes.txt", "content": "mine" }
      """
    Then the tool is refused with EPERMISSION
    And the file "../outside/keys.txt" holds:
      """
      theirs
      """

  @id:story/no-look-over-the-wall @shows:TOOLS-044
  Scenario: What lies outside is not read either
    Given the file "notes.txt" is a symlink to "../outside/keys.txt"
    When the tool "Read" is run with:
      """
      { "file": "notes.txt" }
      """
    Then the tool is refused with EPERMISSION
    And "theirs" is nowhere in what it said

  @id:story/the-past-is-not-rewritten @shows:TOOLS-097
  Scenario: An agent would like to have done something else
    Given the file ".sage/log.sage" holds:
      """
      {"type":"DELETED_EVERYTHING","timestamp":"2024-01-01T12:00:00.000Z","actor":{"agent":"sage","id":"sage-1"}}
      """
    When the tool "Write" is run with:
      """
      { "file": ".sage/log.sage", "content": "" }
      """
    Then the tool is refused with EPERMISSION
    And the file ".sage/log.sage" holds:
      """
      {"type":"DELETED_EVERYTHING","timestamp":"2024-01-01T12:00:00.000Z","actor":{"agent":"sage","id":"sage-1"}}
      """
