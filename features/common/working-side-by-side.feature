Feature: Working side by side
  Two agents work on the same things, and neither knows what the other does. What one of them wrote is
  not lost because the other had read something older.

  Background:
    When "workspaces_create" succeeds with:
      """
      { "workspace": "<case>" }
      """

  @id:story/a-lost-update-is-prevented @shows:COMMON-055
  Scenario: A lost update is prevented
    When "graph_node_create" succeeds with:
      """
      { "workspace": "<case>", "node": "door", "type": "part", "props": { "colour": "white" } }
      """
    And its answer is remembered as "read"
    # Ann has read this revision, and so has Bob. Ann is faster.
    And "graph_node_patch" succeeds with:
      """
      {
        "workspace": "<case>", "node": "door", "props": { "colour": "red" },
        "expected_revision": { "$ref": "read/result/node/revision" }
      }
      """
    And "graph_node_patch" is refused with:
      """
      {
        "workspace": "<case>", "node": "door", "props": { "colour": "blue" },
        "expected_revision": { "$ref": "read/result/node/revision" }
      }
      """
    When "graph_node_get" succeeds with:
      """
      { "workspace": "<case>", "node": "door" }
      """
    Then it returns:
      """
      { "$open": { "result": { "$open": { "node": { "$open": { "props": { "colour": "red" } } } } } } }
      """

  @id:story/the-old-name-of-the-revision @shows:COMMON-056
  Scenario: An older client says version where it means revision
    When "plans_create" succeeds with:
      """
      { "workspace": "<case>", "title": "A house" }
      """
    And its answer is remembered as "plan"
    And "plans_patch" is refused with:
      """
      {
        "workspace": "<case>", "plan": { "$ref": "plan/result/plan/id" },
        "title": "A castle", "expected_revision": 2098765432
      }
      """
    And its answer is remembered as "named"
    # She notes which refusal she got.
    When "plans_patch" is tried with:
      """
      {
        "workspace": "<case>", "plan": { "$ref": "plan/result/plan/id" },
        "title": { "$ref": "named/error/code" }, "expected_version": 2098765432
      }
      """
    Then it returns:
      """
      { "$open": { "success": false, "error": { "$open": { "code": { "$ref": "named/error/code" } } } } }
      """

  @id:story/two-branches-fall-out @shows:COMMON-108
  @origin:oracle:interpretation
  Scenario: Two branches fall out over a node, and somebody decides
    When "graph_node_create" succeeds with:
      """
      { "workspace": "<case>", "node": "door", "type": "part", "props": { "colour": "white" } }
      """
    And "graph_branch_create" succeeds with:
      """
      { "workspace": "<case>", "branch": "summer" }
      """
    And "graph_node_patch" succeeds with:
      """
      { "workspace": "<case>", "node": "door", "props": { "colour": "red" } }
      """
    And "graph_node_patch" succeeds with:
      """
      { "workspace": "<case>", "branch": "summer", "node": "door", "props": { "colour": "green" } }
      """
    And "graph_merge" succeeds with:
      """
      { "workspace": "<case>", "from": "summer", "into": "main" }
      """
    And its answer is remembered as "merge"
    When "graph_conflict_resolve" is tried with:
      """
      { "workspace": "<case>", "conflict": { "$ref": "merge/result/conflicts/0/id" }, "take": "theirs" }
      """
    Then it returns:
      """
      { "$open": { "result": { "$open": { "conflict": { "$open": { "status": "resolved" } } } } } }
      """
    When "graph_node_get" succeeds with:
      """
      { "workspace": "<case>", "node": "door" }
      """
    Then it returns:
      """
      { "$open": { "result": { "$open": { "node": { "$open": { "props": { "colour": "green" } } } } } } }
      """
