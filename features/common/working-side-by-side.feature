Feature: Working side by side
  Two agents work on the same things, and neither knows what the other does. What one of them wrote is
  not lost because the other had read something older.

  Background:
    When "mcp.tool" is called with:
      """
      { "name": "workspaces_create", "arguments": { "workspace": "<case>" } }
      """
    Then it returns:
      """
      { "$open": { "success": true } }
      """

  @id:story/a-lost-update-is-prevented @shows:COMMON-058
  @origin:oracle:interpretation
  Scenario: A lost update is prevented
    When "mcp.tool" is called with:
      """
      { "name": "graph_node_create", "arguments": { "workspace": "<case>", "node": "door", "type": "part", "props": { "colour": "white" } } }
      """
    Then it returns:
      """
      { "$open": { "success": true, "result": { "$open": { "node": { "$open": { "revision": 1 } } } } } }
      """
    # Ann has read revision 1, and so has Bob. Ann is faster.
    When "mcp.tool" is called with:
      """
      { "name": "graph_node_patch", "arguments": { "workspace": "<case>", "node": "door", "props": { "colour": "red" }, "expected_revision": 1 } }
      """
    Then it returns:
      """
      { "$open": { "success": true, "result": { "$open": { "node": { "$open": { "props": { "colour": "red" }, "revision": 2 } } } } } }
      """
    When "mcp.tool" is called with:
      """
      { "name": "graph_node_patch", "arguments": { "workspace": "<case>", "node": "door", "props": { "colour": "blue" }, "expected_revision": 1 } }
      """
    Then it returns:
      """
      { "$open": { "success": false, "error": { "$open": { "code": "REVISION_MISMATCH" } } } }
      """
    # Bob looks again, and writes to what he has seen.
    When "mcp.tool" is called with:
      """
      { "name": "graph_node_get", "arguments": { "workspace": "<case>", "node": "door" } }
      """
    Then it returns:
      """
      { "$open": { "success": true, "result": { "$open": { "node": { "$open": { "props": { "colour": "red" }, "revision": 2 } } } } } }
      """
    When "mcp.tool" is called with:
      """
      { "name": "graph_node_patch", "arguments": { "workspace": "<case>", "node": "door", "props": { "colour": "purple" }, "expected_revision": 2 } }
      """
    Then it returns:
      """
      { "$open": { "success": true, "result": { "$open": { "node": { "$open": { "props": { "colour": "purple" }, "revision": 3 } } } } } }
      """

  @id:story/the-old-name-of-the-revision @shows:COMMON-056
  Scenario: An older client says version where it means revision
    When "mcp.tool" is called with:
      """
      { "name": "plans_create", "arguments": { "workspace": "<case>", "title": "A house" } }
      """
    Then it returns:
      """
      { "$open": { "success": true } }
      """
    When "mcp.tool" is called with:
      """
      { "name": "plans_patch", "arguments": { "workspace": "<case>", "plan": "PLAN-001", "title": "A castle", "expected_version": 1000000 } }
      """
    Then it returns:
      """
      { "$open": { "success": false, "error": { "$open": { "code": "REVISION_MISMATCH" } } } }
      """

  @id:story/two-branches-fall-out @shows:COMMON-105 @shows:COMMON-108
  @origin:oracle:interpretation
  Scenario: Two branches fall out over a node, and somebody decides
    When "mcp.tool" is called with:
      """
      { "name": "graph_node_create", "arguments": { "workspace": "<case>", "node": "door", "type": "part", "props": { "colour": "white" } } }
      """
    And "mcp.tool" is called with:
      """
      { "name": "graph_branch_create", "arguments": { "workspace": "<case>", "branch": "summer" } }
      """
    And "mcp.tool" is called with:
      """
      { "name": "graph_node_patch", "arguments": { "workspace": "<case>", "node": "door", "props": { "colour": "red" } } }
      """
    And "mcp.tool" is called with:
      """
      { "name": "graph_node_patch", "arguments": { "workspace": "<case>", "branch": "summer", "node": "door", "props": { "colour": "green" } } }
      """
    And "mcp.tool" is called with:
      """
      { "name": "graph_merge", "arguments": { "workspace": "<case>", "from": "summer", "into": "main" } }
      """
    Then it returns:
      """
      { "$open": { "success": true, "result": { "merged": 0, "conflicts": [{ "$open": {
        "id": { "$matches": "^CONFLICT-[0-9a-f]{32}$" }, "key": "door", "status": "open",
        "ours": { "type": "part", "props": { "colour": "red" } }, "theirs": { "type": "part", "props": { "colour": "green" } }
      } }] } } }
      """
    # The first conflict that is told.
    When "mcp.tool" is called with:
      """
      { "name": "graph_conflict_resolve", "arguments": { "workspace": "<case>", "conflict": "CONFLICT-00000000000000000000000000000001", "take": "theirs" } }
      """
    Then it returns:
      """
      { "$open": { "success": true, "result": { "$open": { "conflict": { "$open": { "status": "resolved" } } } } } }
      """
    When "mcp.tool" is called with:
      """
      { "name": "graph_node_get", "arguments": { "workspace": "<case>", "node": "door" } }
      """
    Then it returns:
      """
      { "$open": { "success": true, "result": { "$open": { "node": { "$open": { "props": { "colour": "green" } } } } } } }
      """
