--- keylint for Neovim 0.7 or newer.
---
---     require('keylint').setup({ settings = { minLevel = 'note' } })
---
--- It starts one server per project and adds the commands `:KeylintFixAll` and `:KeylintLineage` to Python buffers.

local M = {}

--- The options of `setup`, with their defaults.
M.defaults = {
  --- The server, as a list: program and arguments.
  cmd = { 'keylint', 'server' },
  --- A folder with one of these is a project; the nearest one is used.
  root_markers = { 'keylint.toml', '.keylint.toml', 'pyproject.toml', 'setup.py', '.git' },
  --- keylint's settings for editors; see docs/editors.md.
  settings = {},
  --- Called with the client and the buffer when a server is attached to the buffer.
  on_attach = nil,
  capabilities = nil,
}

local options = M.defaults
--- The identifiers of running clients by project, for versions that do not know of `vim.lsp.start`.
local clients = {}

--- The project of a file: the nearest folder with a marker, or the folder of the file.
local function project(file, markers)
  local folder = vim.fn.fnamemodify(file, ':p:h')
  local here = folder
  while true do
    for _, marker in ipairs(markers) do
      if vim.loop.fs_stat(here .. '/' .. marker) then
        return here
      end
    end
    local parent = vim.fn.fnamemodify(here, ':h')
    if parent == here then
      return folder
    end
    here = parent
  end
end

--- Sends a request and waits for its response; nil if there is none.
local function ask(client, method, params, buffer)
  -- A method since 0.11, a plain function before.
  local answer
  if vim.fn.has('nvim-0.11') == 1 then
    answer = client:request_sync(method, params, 10000, buffer)
  else
    answer = client.request_sync(method, params, 10000, buffer)
  end
  return answer and answer.result
end

--- The keylint client of a buffer.
local function client_of(buffer)
  local get = vim.lsp.get_clients or vim.lsp.get_active_clients
  for _, client in ipairs(get({ bufnr = buffer })) do
    local attached = vim.lsp.buf_is_attached(buffer, client.id)
    if client.name == 'keylint' and attached then
      return client
    end
  end
end

local function in_buffer(buffer)
  return (buffer == nil or buffer == 0) and vim.api.nvim_get_current_buf() or buffer
end

--- Applies an action of the server, and resolves it first if it has no edit.
function M.apply(client, action, buffer)
  if not action.edit and action.data then
    action = ask(client, 'codeAction/resolve', action, buffer) or action
  end
  if action.edit then
    vim.lsp.util.apply_workspace_edit(action.edit, client.offset_encoding)
  end
  return action.edit ~= nil
end

--- Applies all fixes to a buffer; returns whether there were any.
function M.fix_all(buffer)
  buffer = in_buffer(buffer)
  local client = client_of(buffer)
  if not client then
    return false
  end
  local last = vim.api.nvim_buf_line_count(buffer)
  local params = {
    textDocument = vim.lsp.util.make_text_document_params(buffer),
    range = { start = { line = 0, character = 0 }, ['end'] = { line = last, character = 0 } },
    context = { only = { 'source.fixAll.keylint' }, diagnostics = {} },
  }
  for _, action in ipairs(ask(client, 'textDocument/codeAction', params, buffer) or {}) do
    if M.apply(client, action, buffer) then
      return true
    end
  end
  return false
end

--- Shows the lineage of the keys of the function around the cursor.
function M.show_lineage()
  local buffer = in_buffer()
  local client = client_of(buffer)
  if not client then
    return
  end
  local at = vim.lsp.util.make_position_params(0, client.offset_encoding)
  local place = { uri = at.textDocument.uri, position = at.position }
  local params = { command = 'keylint.showLineage', arguments = { place } }
  local text = ask(client, 'workspace/executeCommand', params, buffer)
  if type(text) ~= 'string' or text == '' then
    vim.notify('keylint: no keys are followed in this function')
    return
  end
  vim.lsp.util.open_floating_preview(vim.split(text, '\n', { plain = true }), 'markdown', { focus_id = 'keylint' })
  return text
end

local function attach(client, buffer)
  vim.api.nvim_buf_create_user_command(buffer, 'KeylintFixAll', function() M.fix_all(buffer) end, {})
  vim.api.nvim_buf_create_user_command(buffer, 'KeylintLineage', function() M.show_lineage() end, {})
  if options.on_attach then
    options.on_attach(client, buffer)
  end
end

--- Starts the server of a buffer's project, or attaches the buffer to the running one.
function M.start(buffer)
  buffer = in_buffer(buffer)
  local file = vim.api.nvim_buf_get_name(buffer)
  if file == '' or vim.bo[buffer].buftype ~= '' then
    return
  end
  local root = project(file, options.root_markers)
  local configuration = {
    name = 'keylint',
    cmd = options.cmd,
    root_dir = root,
    workspace_folders = { { uri = vim.uri_from_fname(root), name = root } },
    init_options = { settings = vim.empty_dict() },
    settings = { keylint = options.settings },
    capabilities = options.capabilities,
    on_attach = attach,
    on_exit = function() clients[root] = nil end,
  }
  if next(options.settings) then
    -- The client of 0.7 does not declare that it supports requests for settings.
    configuration.init_options = { settings = options.settings }
  end
  if vim.lsp.start then
    return vim.lsp.start(configuration, { bufnr = buffer })
  end
  if not clients[root] then
    clients[root] = vim.lsp.start_client(configuration)
  end
  if clients[root] then
    vim.lsp.buf_attach_client(buffer, clients[root])
  end
  return clients[root]
end

--- Starts keylint for every Python buffer, including those that are already open.
function M.setup(given)
  options = vim.tbl_deep_extend('force', M.defaults, given or {})
  local group = vim.api.nvim_create_augroup('keylint', { clear = true })
  vim.api.nvim_create_autocmd('FileType', {
    group = group,
    pattern = 'python',
    callback = function(event) M.start(event.buf) end,
  })
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].filetype == 'python' then
      M.start(buffer)
    end
  end
end

return M
