@needs:runs.provider
Feature: Asking first
  A node that is gated asks before it does anything. The user says yes, says no, or puts something
  else in its place, and the provider hears the answer.

  Background:
    Given a run
    And the gated node "Implementer A" of role "implementer"
    And the provider of "Implementer A" will play:
      """
      [
        { "tool": { "id": "11111111-1111-4111-8111-111111111111", "name": "command", "args": { "cmd": "rm -r build" } } },
        { "done": { "message": "That was it." } }
      ]
      """
    When the user tells "Implementer A" "Tidy up."
    And "Implementer A" asks for an approval

  @id:story/a-yes @shows:RUNS-100
  Scenario: The user says yes, and the tool runs
    When the user approves
    And "Implementer A" is idle again
    Then of these kinds the user saw exactly:
      """
      [
        { "type": "approval.resolved", "resolution": { "status": "approved" } },
        { "type": "tool.started", "tool": { "id": "11111111-1111-4111-8111-111111111111", "name": "command", "args": { "cmd": "rm -r build" } } }
      ]
      """

  @id:story/a-no @shows:RUNS-113
  Scenario: The user says no, and nobody is asked any more
    When the user denies
    And "http.request" is called with:
      """
      { "method": "GET", "path": "/api/approvals" }
      """
    Then it returns:
      """
      { "$open": { "ok": true, "body": [] } }
      """

  @id:story/something-else @shows:RUNS-100
  Scenario: The user puts something else in its place, and that is what runs
    When the user approves other arguments:
      """
      { "cmd": "make clean" }
      """
    And "Implementer A" is idle again
    Then of these kinds the user saw exactly:
      """
      [
        { "type": "approval.resolved", "resolution": { "status": "modified", "modifiedArgs": { "cmd": "make clean" } } },
        { "type": "tool.started", "tool": { "id": "11111111-1111-4111-8111-111111111111", "name": "command", "args": { "cmd": "make clean" } } }
      ]
      """
