Business Need: Synonyms

  Example: one
    Given a

  Scenario Template: two <b>
    Given <b>

    Scenarios: some
      | b |
      | 1 |
    Examples: more
      | b |
      | 2 |
