  #   language :   en-pirate   
Ahoy matey!: x
  Heave to: y
    Gangway! a
    Blimey! b
    Let go and haul c
