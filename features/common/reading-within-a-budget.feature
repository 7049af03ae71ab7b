Feature: Reading within a budget
  An agent has room for so much text and no more. It says how much, gets no more than that, and is
  told when it has not seen everything.

  Background:
    When "mcp.tool" is called with:
      """
      { "name": "workspaces_create", "arguments": { "workspace": "<case>" } }
      """
    Then it returns:
      """
      { "$open": { "success": true } }
      """
    When "mcp.tool" is called with:
      """
      { "name": "plans_create", "arguments": { "workspace": "<case>", "title": "Une maison" } }
      """
    And "mcp.tool" is called with:
      """
      {
        "name": "tasks_create",
        "arguments": {
          "workspace": "<case>", "plan": "PLAN-001", "title": "La porte",
          "notes": "Été : poncer.\nAutomne : peindre, s’il ne gèle pas déjà.\nHiver : attendre près du poêle.\n"
        }
      }
      """
    Then it returns:
      """
      { "$open": { "success": true } }
      """

  @id:story/a-long-text-is-cut @shows:COMMON-066
  Scenario: A long text is cut
    When "mcp.tool" is called with:
      """
      { "name": "tasks_notes", "arguments": { "workspace": "<case>", "task": "TASK-001", "max_chars": 24 } }
      """
    Then it returns:
      """
      { "$open": { "success": true, "result": { "$open": { "text": { "$within": { "bytes": 24, "value": { "$any": "string" } } } } } } }
      """

  @id:story/a-text-that-was-cut-says-so @shows:COMMON-070
  Scenario: A text that was cut says so
    When "mcp.tool" is called with:
      """
      { "name": "tasks_notes", "arguments": { "workspace": "<case>", "task": "TASK-001", "max_chars": 24 } }
      """
    Then it returns:
      """
      { "$open": { "success": true, "result": { "$open": {
        "truncated": true,
        "budget": { "$open": { "used": { "$any": "integer" }, "limit": 24 } }
      } } } }
      """

  @id:story/the-first-lines @shows:COMMON-073
  @origin:oracle:interpretation
  Scenario: The first lines are enough
    When "mcp.tool" is called with:
      """
      { "name": "tasks_notes", "arguments": { "workspace": "<case>", "task": "TASK-001", "max_lines": 2 } }
      """
    Then it returns:
      """
      { "$open": { "success": true, "result": { "$open": {
        "text": "Été : poncer.\nAutomne : peindre, s’il ne gèle pas déjà.\n"
      } } } }
      """

  @id:story/room-for-everything @shows:COMMON-071
  Scenario: There is room for everything
    When "mcp.tool" is called with:
      """
      { "name": "tasks_notes", "arguments": { "workspace": "<case>", "task": "TASK-001", "max_chars": 4000 } }
      """
    Then it returns:
      """
      { "$open": { "success": true, "result": { "$open": {
        "text": "Été : poncer.\nAutomne : peindre, s’il ne gèle pas déjà.\nHiver : attendre près du poêle.\n",
        "truncated": { "$optional": false }
      } } } }
      """
