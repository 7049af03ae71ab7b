@needs:runs.provider
Feature: After a crash
  The server is killed in the middle of a turn. What was told before is still there; the turn is lost,
  the node says so, and the work goes on.

  @id:story/the-server-is-killed @shows:RUNS-151
  Scenario: The server is killed while somebody waits for an approval
    Given a run
    And the gated node "Implementer A" of role "implementer"
    And the provider of "Implementer A" will play:
      """
      [{ "tool": { "id": "11111111-1111-4111-8111-111111111111", "name": "command", "args": { "cmd": "ls" } } }]
      """
    When the user tells "Implementer A" "Look around."
    And "Implementer A" asks for an approval
    And "file.read" is called with:
      """
      { "log": { "runId": { "$ref": "the run/body/id" } }, "until": { "type": "approval.requested" } }
      """
    And the server is killed and starts again
    # What is told from the beginning: the user's words, the question, and that the node is idle.
    And "Implementer A" asks for an approval
    And "Implementer A" is idle again
    And "http.request" is called with:
      """
      { "method": "GET", "path": "/api/approvals" }
      """
    Then it returns:
      """
      { "$oneOf": [{ "$open": { "ok": true, "body": [] } }, { "$open": { "ok": false } }] }
      """
