Feature: A day that can be replayed
  An agent's run can be told again only if time, chance and secrets come from outside. Here they are
  scripted, and the agent finds exactly what the script says.

  @id:story/the-clock-follows-its-script @shows:UTILS-026 @shows:UTILS-027
  Scenario: The clock moves only as the script moves it
    Given the clock starts at "2024-01-01T08:59:59.000Z" and steps 1000 ms
    When "utils.clock.now" is called
    Then it returns:
      """
      { "$matches": "^2024-01-01T08:59:59" }
      """
    When "utils.clock.now" is called
    Then it returns:
      """
      { "$matches": "^2024-01-01T09:00:00" }
      """

  @id:story/chance-follows-its-tape @shows:UTILS-029 @shows:UTILS-030
  Scenario: Chance is a tape
    Given the random tape has integers 7, 9 and floats 0.25, 0.5
    When "utils.random.int" is called
    Then it returns 7
    When "utils.random.int" is called
    Then it returns 9
    When "utils.random.float" is called
    Then it returns 0.25
    When "utils.random.float" is called
    Then it returns 0.5

  @id:story/a-secret-that-is-there-and-one-that-is-not @shows:UTILS-032 @shows:UTILS-033 @shows:UTILS-034
  Scenario: One secret is there, the other is not
    Given the secret "GITHUB_API_KEY" is "ghp_123"
    When "utils.secrets.get" is called with:
      """
      { "key": "GITHUB_API_KEY" }
      """
    Then it returns "ghp_123"
    And the fake "secrets" was asked "get" with:
      """
      { "key": "GITHUB_API_KEY" }
      """
    When "utils.secrets.get" is called with:
      """
      { "key": "GITLAB_API_KEY" }
      """
    Then it returns null
    And the fake "secrets" was asked "get" with:
      """
      { "key": "GITLAB_API_KEY" }
      """
