Feature: A day that can be replayed
  An agent's run can be told again only if time, chance and secrets come from outside. Here they are
  scripted, and the agent finds exactly what the script says.

  @id:story/the-clock-follows-its-script @shows:UTILS-026
  Scenario: The clock begins where its script begins
    Given the clock starts at "2024-01-01T08:59:59.000Z" and steps 1000 ms
    When "utils.clock.now" is called
    Then it returns:
      """
      { "$matches": "^2024-01-01T08:59:59" }
      """

  @id:story/chance-follows-its-tape @shows:UTILS-029
  Scenario: Chance is a tape
    Given the random tape has integers 7, 9 and floats 0.25, 0.5
    When "utils.random.int" is called
    Then it returns 7
    When "utils.random.int" is called
    Then it returns 9

  @id:story/fractions-follow-their-tape @shows:UTILS-030
  Scenario: Fractions have a tape, too
    Given the random tape has integers 7, 9 and floats 0.25, 0.5
    When "utils.random.float" is called
    Then it returns 0.25
    When "utils.random.float" is called
    Then it returns 0.5

  @id:story/each-secret-by-its-own-key @alias:story/a-secret-that-is-there-and-one-that-is-not @shows:UTILS-034
  Scenario: Each secret is asked for by its own key
    Given the secret "GITHUB_API_KEY" is "ghp_123"
    And the secret "GITLAB_API_KEY" is "glpat_456"
    When "utils.secrets.get" is called with:
      """
      { "key": "GITHUB_API_KEY" }
      """
    Then it returns:
      """
      { "$any": "value" }
      """
    And the fake "secrets" was asked "get" with:
      """
      { "key": "GITHUB_API_KEY" }
      """
    When "utils.secrets.get" is called with:
      """
      { "key": "GITLAB_API_KEY" }
      """
    Then it returns:
      """
      { "$any": "value" }
      """
    And the fake "secrets" was asked "get" with:
      """
      { "key": "GITLAB_API_KEY" }
      """
