Feature: Finishing a step
  A step is done when its criteria are met and its tests have passed, and somebody has said so. Who
  closes it too early is told what is missing, and which call would mend it.

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
      { "name": "plans_create", "arguments": { "workspace": "<case>", "title": "A house" } }
      """
    And "mcp.tool" is called with:
      """
      { "name": "tasks_create", "arguments": { "workspace": "<case>", "plan": "PLAN-001", "title": "The door" } }
      """
    And "mcp.tool" is called with:
      """
      { "name": "steps_create", "arguments": { "workspace": "<case>", "task": "TASK-001", "title": "Hang it" } }
      """
    Then it returns:
      """
      { "$open": { "success": true, "result": { "$open": { "step": { "$open": { "status": "open" } } } } } }
      """

  @id:story/closing-too-early @shows:COMMON-100
  @origin:oracle:interpretation
  Scenario: A step is closed too early, and then in order
    When "mcp.tool" is called with:
      """
      { "name": "steps_patch", "arguments": { "workspace": "<case>", "task": "TASK-001", "path": "s:0", "status": "done" } }
      """
    Then it returns:
      """
      { "$open": {
        "success": false,
        "error": { "$open": { "code": "CHECKPOINTS_NOT_CONFIRMED" } },
        "suggestions": { "$contains": [{ "$open": {
          "target": "steps_patch",
          "params": { "$open": { "status": "done", "checkpoints": { "$open": { "criteria": true, "tests": true } } } }
        } }] }
      } }
      """
    When "mcp.tool" is called with:
      """
      { "name": "steps_patch", "arguments": { "workspace": "<case>", "task": "TASK-001", "path": "s:0", "checkpoints": { "criteria": true, "tests": true }, "status": "done" } }
      """
    Then it returns:
      """
      { "$open": { "success": true, "result": { "$open": { "step": { "$open": { "status": "done" } } } } } }
      """

  @id:story/half-of-it-is-not-enough @shows:COMMON-099
  @origin:oracle:interpretation
  Scenario Outline: Half of it is not enough
    When "mcp.tool" is called with:
      """
      { "name": "steps_patch", "arguments": { "workspace": "<workspace>", "task": "TASK-001", "path": "s:0", "checkpoints": { "<confirmed>": true } } }
      """
    Then it returns:
      """
      { "$open": { "success": true, "result": { "$open": { "step": { "$open": { "checkpoints": { "<confirmed>": true, "<missing>": false } } } } } } }
      """
    When "mcp.tool" is called with:
      """
      { "name": "steps_patch", "arguments": { "workspace": "<workspace>", "task": "TASK-001", "path": "s:0", "status": "done" } }
      """
    Then it returns:
      """
      { "$open": { "success": false, "error": { "$open": { "code": "CHECKPOINTS_NOT_CONFIRMED" } } } }
      """

    Examples:
      | workspace | confirmed | missing  |
      | <case>    | criteria  | tests    |
      | <case>    | tests     | criteria |
