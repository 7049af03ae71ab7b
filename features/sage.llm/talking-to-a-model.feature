Feature: Talking to a model
  Somebody asks, and a model answers. Whichever provider is behind it, whether it streams or not, and
  whatever goes wrong on the way, the one who asked reads one kind of stream and knows when it is over.

  @id:story/an-answer-in-pieces @shows:LLM-008
  Scenario: The answer comes in pieces and is read as one
    Given the model will answer:
      """
      {
        "events": [
          { "type": "text", "value": "I am " },
          { "type": "text", "value": "a small " },
          { "type": "text", "value": "model." },
          { "type": "end" }
        ]
      }
      """
    When the model is asked "Who are you?"
    Then it streams:
      """
      { "$among": { "items": { "$open": { "type": "text" } }, "value": [{ "type": "text", "value": "I am a small model." }] } }
      """
    And the fake "tools" was asked "execute" 0 times

  @id:story/an-old-provider @shows:LLM-014
  Scenario: A provider that cannot stream reads the same
    Given the model will answer:
      """
      { "text": "I am an old model." }
      """
    When the model is asked "Who are you?"
    Then it streams:
      """
      {
        "$among": {
          "items": { "$open": { "type": { "$oneOf": ["text", "end"] } } },
          "value": [{ "$open": { "type": "text" } }, { "$open": { "type": "end" } }]
        }
      }
      """
    And the fake "tools" was asked "execute" 0 times

  @id:story/a-broken-line @shows:LLM-046
  Scenario: The line breaks, and the reader learns why
    Given the model will answer:
      """
      {
        "events": [
          { "type": "text", "value": "The capital is Par" },
          { "error": { "code": "EIO", "message": "connection reset", "operation": "read" } }
        ]
      }
      """
    When the model is asked "What is the capital of France?"
    Then it fails with EIO and:
      """
      { "operation": "read" }
      """
    And it streams:
      """
      { "$contains": [{ "type": "text", "value": "The capital is Par" }] }
      """
    And the fake "tools" was asked "execute" 0 times

  @id:story/half-an-answer @shows:LLM-045
  Scenario: Half an answer is not taken for a whole one
    Given the model will answer:
      """
      { "events": [{ "type": "text", "value": "You should never mix " }] }
      """
    When the model is asked "What should I never mix?"
    Then it fails with EIO
    And it streams:
      """
      { "$contains": [{ "type": "text", "value": "You should never mix " }] }
      """
    And the fake "tools" was asked "execute" 0 times

  @id:story/two-providers @shows:LLM-004
  Scenario: A user tries another provider and changes her mind
    Given the fake "llm" plays:
      """
      {
        "providers": {
          "home": { "models": ["small"], "turns": [{ "text": "From home." }] },
          "cloud": { "models": ["large", "huge"] }
        }
      }
      """
    When "llm.setProvider" is called with:
      """
      { "name": "home" }
      """
    And "llm.setProvider" is called with:
      """
      { "name": "cloud" }
      """
    When "llm.setProvider" is called with:
      """
      { "name": "home" }
      """
    And "llm.createChatStream" is called with:
      """
      { "options": { "model": "small", "messages": [{ "role": "user", "content": "Where are you?" }] } }
      """
    Then it streams:
      """
      { "$contains": [{ "$open": { "type": "text" } }] }
      """
    And the fake "llm" was asked "chat" with:
      """
      { "$open": { "provider": "home" } }
      """

  Rule: A limit of time ends the wait
    Background: A model that does not answer at all
      Given the fake "llm" plays:
        """
        { "providers": { "quiet": { "turns": [{ "stall": true }, { "events": [{ "stall": true }] }] } } }
        """
      When "llm.setProvider" is called with:
        """
        { "name": "quiet" }
        """
      And "llm.createChatStream" is called with:
        """
        { "options": { "model": "m", "messages": [{ "role": "user", "content": "Hello?" }], "timeoutMs": 100 } }
        """
      Then it fails with ETIMEOUT
      And it streams:
        """
        { "$each": { "$any": "value" } }
        """
      And the fake "tools" was asked "execute" 0 times

    @slow @id:story/a-model-that-falls-silent @shows:LLM-050
    Scenario: A model falls silent, and somebody hangs up
      When "llm.createChatStream" is called with:
        """
        { "options": { "model": "m", "messages": [{ "role": "user", "content": "Are you there?" }], "timeoutMs": 1500 } }
        """
      Then it fails with ETIMEOUT
      And it streams:
        """
        { "$each": { "$any": "value" } }
        """
      And the fake "llm" was asked "stop" 1 times
