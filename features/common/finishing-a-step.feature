Feature: Finishing a step
  A step is done when its criteria are met and its tests have passed, and somebody has said so. Who
  closes it too early is told what is missing, and which call would mend it.

  Background:
    When "workspaces_create" succeeds with:
      """
      { "workspace": "<case>" }
      """
    When "plans_create" succeeds with:
      """
      { "workspace": "<case>", "title": "A house" }
      """
    And its answer is remembered as "plan"
    And "tasks_create" succeeds with:
      """
      { "workspace": "<case>", "plan": { "$ref": "plan/result/plan/id" }, "title": "The door" }
      """
    And its answer is remembered as "task"
    And "steps_create" succeeds with:
      """
      { "workspace": "<case>", "task": { "$ref": "task/result/task/id" }, "title": "Hang it" }
      """
    And its answer is remembered as "step"

  @id:story/closing-too-early @shows:COMMON-100
  @origin:oracle:interpretation
  Scenario: A step is closed too early, and then in order
    When "steps_patch" is refused with:
      """
      {
        "workspace": "<case>", "task": { "$ref": "task/result/task/id" },
        "path": { "$ref": "step/result/step/path" }, "status": "done"
      }
      """
    And its answer is remembered as "refused"
    When "mcp.suggestion" is called with:
      """
      { "$ref": "refused/suggestions/0" }
      """
    Then it returns:
      """
      { "$open": { "success": true } }
      """
    When "steps_get" succeeds with:
      """
      {
        "workspace": "<case>", "task": { "$ref": "task/result/task/id" },
        "path": { "$ref": "step/result/step/path" }
      }
      """
    Then it returns:
      """
      { "$open": { "result": { "$open": { "step": { "$open": {
        "status": "done", "checkpoints": { "criteria": true, "tests": true }
      } } } } } }
      """

  @id:story/half-of-it-is-not-enough @shows:COMMON-099
  @origin:oracle:interpretation
  Scenario Outline: Half of it is not enough
    When "steps_patch" succeeds with:
      """
      {
        "workspace": "<workspace>", "task": { "$ref": "task/result/task/id" },
        "path": { "$ref": "step/result/step/path" }, "checkpoints": { "<confirmed>": true }
      }
      """
    And "steps_patch" is refused with:
      """
      {
        "workspace": "<workspace>", "task": { "$ref": "task/result/task/id" },
        "path": { "$ref": "step/result/step/path" }, "status": "done"
      }
      """
    When "steps_get" succeeds with:
      """
      {
        "workspace": "<workspace>", "task": { "$ref": "task/result/task/id" },
        "path": { "$ref": "step/result/step/path" }
      }
      """
    Then it returns:
      """
      { "$open": { "result": { "$open": { "step": { "$open": {
        "status": "open", "checkpoints": { "<confirmed>": true, "<missing>": false }
      } } } } } }
      """

    Examples:
      | workspace | confirmed | missing  |
      | <case>    | criteria  | tests    |
      | <case>    | tests     | criteria |
