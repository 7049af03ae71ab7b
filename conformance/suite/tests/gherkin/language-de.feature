# A comment before it.
#language:de
Funktionalität: Sprache

  Grundlage:
    Angenommen eins

  Regel: r
    Beispiel: zwei
      Gegeben sei drei
      Und vier
      Wenn fünf
      Aber sechs
      Dann sieben
      * acht

  Szenariogrundriss: <a>
    Gegeben seien <a>
    Beispiele:
      | a |
      | 1 |
