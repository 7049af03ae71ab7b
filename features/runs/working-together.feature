@needs:runs.provider
Feature: Working together
  Nodes hand tasks to one another along edges. Where they go round in circles, they are stopped.

  Background:
    Given a run

  @id:story/a-task-is-handed-over @shows:RUNS-063
  Scenario: A task is handed over, and the other node does it
    Given the node "Lead" of role "orchestrator"
    And the node "Helper" of role "implementer"
    And an edge from "Lead" to "Helper"
    And the provider of "Lead" will play:
      """
      [{ "handoff": { "to": "Helper", "message": "Write the parser." } }, { "done": { "message": "I have found somebody." } }]
      """
    And the provider of "Helper" will play:
      """
      [{ "done": { "message": "It is written." } }]
      """
    When the user tells "Lead" "We need a parser."
    And "Helper" is idle again
    Then the fake "provider" was asked "turn" with:
      """
      { "$open": { "label": "Lead", "prompt": { "$open": { "text": { "$matches": "We need a parser" } } } } }
      """
    And the fake "provider" was asked "turn" with:
      """
      { "$open": { "label": "Helper", "prompt": { "$open": { "text": { "$matches": "Write the parser" } } } } }
      """

  @id:story/going-round-in-circles @shows:RUNS-126
  Scenario: A node that says the same three times is stopped
    Given the node "Implementer A" of role "implementer"
    And the provider of "Implementer A" will play in every further turn:
      """
      [{ "done": { "message": "I am thinking." } }]
      """
    When the user tells "Implementer A" "And now?"
    And "Implementer A" is idle again
    And the user tells "Implementer A" "And now?"
    And "Implementer A" is idle again
    And the user tells "Implementer A" "And now?"
    And the run stalls
    And the user looks at the run
    Then the run is:
      """
      { "status": "paused" }
      """

  @id:story/nobody-says-the-same @shows:RUNS-126
  Scenario: A node that gets on is not stopped
    Given the node "Implementer A" of role "implementer"
    And the provider of "Implementer A" will play in every further turn:
      """
      [{ "done": { "message": "Step {{turn}} is done." } }]
      """
    When the user tells "Implementer A" "Go on."
    And "Implementer A" is idle again
    And the user tells "Implementer A" "Go on."
    And "Implementer A" is idle again
    And the user tells "Implementer A" "Go on."
    And "Implementer A" is idle again
    And the user looks at the run
    Then the run is:
      """
      { "status": "running" }
      """
