Feature: A model with tools
  A model may ask for tools. What it asks for is checked before anything runs, every call gets its
  result, and the model hears of it before it answers.

  Background:
    Given the model may use the tool "weather", which takes:
      """
      { "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] }
      """

  @id:story/the-model-looks-it-up @shows:LLM-040
  Scenario: The model looks something up and answers
    Given the model will answer:
      """
      {
        "events": [
          { "type": "text", "value": "Let me look. " },
          { "type": "tool_call", "toolName": "weather", "arguments": { "city": "Oslo" }, "callId": "c1" },
          { "type": "end" }
        ]
      }
      """
    And the tool "weather" will answer:
      """
      { "ok": true, "data": { "sky": "clear", "celsius": -4 } }
      """
    And the model will answer:
      """
      { "events": [{ "type": "text", "value": "Clear, and cold." }, { "type": "end" }] }
      """
    When the model is asked "How is the weather in Oslo?"
    Then it streams:
      """
      { "$each": { "$any": "value" } }
      """
    And the fake "llm" was asked "chat" with:
      """
      { "$any": "object" }
      """
    And the fake "tools" was asked "execute" with:
      """
      { "name": "weather", "input": { "city": "Oslo" } }
      """
    And the fake "llm" was asked "chat" with:
      """
      {
        "$open": {
          "options": {
            "$open": {
              "messages": [
                { "role": "user", "content": "How is the weather in Oslo?" },
                { "role": "assistant", "content": "Let me look. " },
                { "role": "tool", "tool_call_id": "c1", "content": "{\"data\":{\"celsius\":-4,\"sky\":\"clear\"},\"ok\":true}" }
              ]
            }
          }
        }
      }
      """

  @id:story/the-model-mends-its-mistake @shows:LLM-040
  Scenario: The model gets it wrong, hears of it and gets it right
    Given the model will answer:
      """
      {
        "events": [
          { "type": "tool_call", "toolName": "weather", "arguments": { "town": "Oslo" }, "callId": "c1" },
          { "type": "end" }
        ]
      }
      """
    And the model will answer:
      """
      {
        "events": [
          { "type": "tool_call", "toolName": "weather", "arguments": { "city": "Oslo" }, "callId": "c2" },
          { "type": "end" }
        ]
      }
      """
    And the tool "weather" will answer:
      """
      { "ok": true, "data": "clear" }
      """
    And the model will answer:
      """
      { "events": [{ "type": "text", "value": "Clear." }, { "type": "end" }] }
      """
    When the model is asked "How is the weather in Oslo?"
    Then it streams:
      """
      { "$each": { "$any": "value" } }
      """
    And the fake "llm" was asked "chat" 3 times

  @id:story/a-tool-nobody-offered @shows:LLM-035
  Scenario: The model dreams up a tool that nobody offered
    Given the model will answer:
      """
      {
        "events": [
          { "type": "tool_call", "toolName": "launch", "arguments": {}, "callId": "c1" },
          { "type": "end" }
        ]
      }
      """
    And the model will answer:
      """
      { "events": [{ "type": "text", "value": "I cannot do that." }, { "type": "end" }] }
      """
    When the model is asked "Launch it."
    Then it streams:
      """
      { "$contains": [{ "$open": { "type": "tool_call", "toolName": "launch" } }] }
      """
    And the fake "tools" was asked "execute" 0 times
