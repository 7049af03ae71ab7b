# language: em
📚: 🙈🙉🙊

  📕: 💃
    😐🎸
    🎬x
    🙏y
