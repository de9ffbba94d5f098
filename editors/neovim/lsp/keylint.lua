--- keylint for Neovim 0.11 and newer, which reads this file by itself: `vim.lsp.enable('keylint')`.
return {
  cmd = { 'keylint', 'server' },
  filetypes = { 'python' },
  root_markers = { 'keylint.toml', '.keylint.toml', 'pyproject.toml', 'setup.py', '.git' },
  settings = { keylint = {} },
}
