Feature: Reading within a budget
  An agent has room for so much text and no more. It says how much, gets no more than that, and is
  told when it has not seen everything.

  Background:
    When "workspaces_create" succeeds with:
      """
      { "workspace": "<case>" }
      """
    When "plans_create" succeeds with:
      """
      { "workspace": "<case>", "title": "Une maison" }
      """
    And its answer is remembered as "plan"
    And "tasks_create" succeeds with:
      """
      {
        "workspace": "<case>",
        "plan": { "$ref": "plan/result/plan/id" },
        "title": "La porte",
        "notes": "Été : poncer.\nAutomne : peindre, s’il ne gèle pas déjà.\nHiver : attendre près du poêle.\n"
      }
      """
    And its answer is remembered as "task"

  @id:story/a-long-text-is-cut @shows:COMMON-066
  Scenario: A long text is cut, where such a budget can be named
    When "tasks_notes" is tried with:
      """
      { "workspace": "<case>", "task": { "$ref": "task/result/task/id" }, "max_chars": 24 }
      """
    Then it returns:
      """
      { "$oneOf": [
        { "$open": { "result": { "$open": { "text": { "$within": { "bytes": 24, "value": { "$any": "string" } } } } } } },
        { "$open": { "success": false } }
      ] }
      """

  @id:story/a-text-that-was-cut-says-so @shows:COMMON-070
  Scenario: A text that was cut says so
    When "tasks_notes" is tried with:
      """
      { "workspace": "<case>", "task": { "$ref": "task/result/task/id" }, "max_chars": 24 }
      """
    Then it returns:
      """
      { "$oneOf": [
        { "$open": { "result": { "$open": {
          "truncated": true,
          "budget": { "$open": { "used": { "$any": "integer" }, "limit": { "$any": "integer" } } }
        } } } },
        { "$open": { "success": false } }
      ] }
      """

  @id:story/room-for-everything @shows:COMMON-071
  Scenario: There is room for everything
    When "tasks_notes" is tried with:
      """
      { "workspace": "<case>", "task": { "$ref": "task/result/task/id" }, "max_chars": 4000 }
      """
    Then it returns:
      """
      { "$oneOf": [
        { "$open": { "result": { "$open": {
          "text": "Été : poncer.\nAutomne : peindre, s’il ne gèle pas déjà.\nHiver : attendre près du poêle.\n",
          "truncated": { "$optional": false }
        } } } },
        { "$open": { "success": false } }
      ] }
      """
