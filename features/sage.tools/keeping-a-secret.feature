Feature: Keeping a secret
  A tool needs a key, and a model must never see it. The model writes the key's name; the runtime puts
  the key in its place just before the tool runs, and takes it out again of all that comes back.

  Background:
    Given the secret "DEPLOY_KEY" is "k3y-Zt81-pq"
    And secrets are injected
    And the tool "Deploy" takes:
      """
      { "type": "object", "properties": { "target": { "type": "string" }, "auth": { "type": "string" } }, "required": ["target", "auth"] }
      """

  @id:story/the-tool-gets-the-key @shows:TOOLS-107
  Scenario: The tool gets the key
    Given the tool "Deploy" will answer:
      """
      { "ok": true, "data": { "url": "https://prod.test/?auth=k3y-Zt81-pq", "log": ["sent Bearer k3y-Zt81-pq"] } }
      """
    When the tool "Deploy" is run with:
      """
      { "target": "prod", "auth": "Bearer $ENV.DEPLOY_KEY" }
      """
    Then the fake "secrets" was asked "get" with:
      """
      { "key": "DEPLOY_KEY" }
      """
    And the fake "tools" was asked "execute" with:
      """
      { "name": "Deploy", "input": { "target": "prod", "auth": "Bearer k3y-Zt81-pq" } }
      """

  @id:story/a-key-that-nobody-has @shows:TOOLS-110
  Scenario: Nobody has the key
    When the tool "Deploy" is run with:
      """
      { "target": "prod", "auth": "Bearer $ENV.NO_SUCH_KEY" }
      """
    Then the fake "tools" was asked "execute" 0 times
    And it returns:
      """
      { "$open": { "ok": false, "error": { "$open": { "code": { "$oneOf": ["EPERMISSION", "ESECRET_NOT_FOUND"] } } } } }
      """

  Rule: Programs get the key, too

    Background:
      Given the permission "Bash"
      And the file "keep.sh" holds:
        """
        printf '%s\n' "$1" > kept.txt
        """
      When the tool "Bash" is run with:
        """
        { "command": "/bin/sh", "args": ["keep.sh", "$ENV.DEPLOY_KEY"] }
        """
      Then it returns:
        """
        { "$open": { "ok": true } }
        """
      And the fake "secrets" was asked "get" with:
        """
        { "key": "DEPLOY_KEY" }
        """
      And the file "kept.txt" begins with:
        """
        k3y-Zt81-pq
        """

    @id:story/a-program-that-tells @shows:TOOLS-119
    Scenario: A program prints its arguments
      Given the file "deploy.sh" holds:
        """
        printf 'using %s\n' "$1"
        printf 'cannot log in with %s\n' "$1" >&2
        """
      When the tool "Bash" is run with:
        """
        { "command": "/bin/sh", "args": ["deploy.sh", "$ENV.DEPLOY_KEY"] }
        """
      Then it returns:
        """
        { "$any": "object" }
        """
      And the fake "tools" was asked "execute" 0 times
      And "k3y-Zt81-pq" is nowhere in what it said
