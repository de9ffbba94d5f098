--- What test_neovim.py has Neovim do: opens files of the project, writes what it shows, repairs, writes the buffers.
---
--- The environment names the server (KEYLINT), the project (PROJECT), the report (REPORT) and the settings (SETTINGS).

local project, report = vim.env.PROJECT, {}
local editors = vim.env.EDITORS

vim.opt.runtimepath:prepend(editors .. '/neovim')
vim.cmd('filetype on')

local keylint = require('keylint')
keylint.setup({ cmd = { vim.env.KEYLINT, 'server' }, settings = vim.fn.json_decode(vim.env.SETTINGS) })

local function wait_for(what, holds)
  if not vim.wait(20000, holds, 20) then
    error('waited in vain for ' .. what)
  end
end

--- Opens a file and waits for findings.
local function open(name)
  vim.cmd('edit ' .. vim.fn.fnameescape(project .. '/' .. name))
  local buffer = vim.api.nvim_get_current_buf()
  wait_for('diagnostics of ' .. name, function() return #vim.diagnostic.get(buffer) > 0 end)
  return buffer
end

local function shown(buffer)
  local all = {}
  for _, it in ipairs(vim.diagnostic.get(buffer)) do
    -- Columns of Neovim count bytes, whatever the protocol counts.
    table.insert(all, {
      start = { it.lnum, it.col },
      ['end'] = { it.end_lnum, it.end_col },
      code = it.code,
      severity = it.severity,
      message = it.message,
      source = it.source,
    })
  end
  return all
end

local function save_as(buffer, name)
  vim.api.nvim_buf_call(buffer, function() vim.cmd('write! ' .. vim.fn.fnameescape(project .. '/' .. name)) end)
end

--- Applies the quick fix of the first finding of a code.
local function quick_fix(buffer, code)
  local client = (vim.lsp.get_clients or vim.lsp.get_active_clients)()[1]
  for _, it in ipairs(vim.diagnostic.get(buffer)) do
    if it.code == code then
      vim.api.nvim_win_set_cursor(0, { it.lnum + 1, it.col })
      local params = vim.lsp.util.make_range_params(0, client.offset_encoding)
      params.context = { diagnostics = vim.lsp.diagnostic.get_line_diagnostics(buffer), only = { 'quickfix' } }
      local answer = client.request_sync('textDocument/codeAction', params, 10000, buffer)
      local titles = {}
      assert(answer.result, vim.inspect(answer))
      for _, action in ipairs(answer.result) do
        table.insert(titles, action.title)
        if action.title:find('split') then
          assert(keylint.apply(client, action, buffer), 'the fix has no edit')
          return titles
        end
      end
      error('no fix among ' .. vim.inspect(titles))
    end
  end
  error('no finding of ' .. code)
end

local function run()
  local windows = open('windows.py')
  report.windows = shown(windows)
  report.titles = quick_fix(windows, 'KEY101')
  wait_for('the fixed buffer to be silent', function() return #vim.diagnostic.get(windows) == 0 end)
  save_as(windows, 'windows.fixed')

  local train = open('train.py')
  report.train = shown(train)
  vim.api.nvim_win_set_cursor(0, { 6, 10 })
  report.lineage = keylint.show_lineage()
  vim.cmd('KeylintFixAll')
  wait_for('the fix to be reported', function()
    for _, it in ipairs(vim.diagnostic.get(train)) do
      if it.code == 'KEY302' then
        return false
      end
    end
    return true
  end)
  report.after = shown(train)
  report.again = keylint.fix_all(train)
  save_as(train, 'train.fixed')

  -- Both files belong to one project, so that one server has them.
  report.servers = #(vim.lsp.get_clients or vim.lsp.get_active_clients)()
  vim.lsp.stop_client((vim.lsp.get_clients or vim.lsp.get_active_clients)())
  wait_for('the server to end', function() return #(vim.lsp.get_clients or vim.lsp.get_active_clients)() == 0 end)
end

local ok, problem = pcall(run)
report.problem = not ok and tostring(problem) or nil
vim.fn.writefile({ vim.fn.json_encode(report) }, vim.env.REPORT)
vim.cmd('qall!')
