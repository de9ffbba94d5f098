;;; keylint.el --- keylint through eglot  -*- lexical-binding: t; -*-

;; Package-Requires: ((emacs "26.3") (eglot "1.9"))
;; URL: https://github.com/keylint/keylint
;; Version: 0.1.0
;; SPDX-License-Identifier: MIT OR Apache-2.0

;;; Commentary:

;; Registers `keylint server' with eglot and adds `keylint-fix-all' and `keylint-show-lineage'.
;;
;;     (require 'keylint)
;;     (add-hook 'python-mode-hook #'eglot-ensure)

;;; Code:

(require 'eglot)
(require 'jsonrpc)

(defgroup keylint nil
  "Misuse of JAX PRNG keys."
  :group 'tools)

(defcustom keylint-command '("keylint" "server")
  "The server: program and arguments."
  :type '(repeat string))

(add-to-list 'eglot-server-programs
             ;; Versions of eglot that know tree-sitter accept a list of modes.
             (cons (if (fboundp 'python-ts-mode) '(python-mode python-ts-mode) 'python-mode)
                   (lambda (&rest _) keylint-command)))

;; eglot has no public function that sends pending changes; a response for an older text would be useless.
(defun keylint--flush ()
  "Send pending changes to the server."
  (when (fboundp 'eglot--signal-textDocument/didChange)
    (eglot--signal-textDocument/didChange)))

(defun keylint--apply (action)
  "Apply the code action ACTION."
  (if (fboundp 'eglot-execute)
      (eglot-execute (eglot-current-server) action)
    ;; Older versions do not resolve actions, so the server includes the edit.
    (eglot--apply-workspace-edit (plist-get action :edit))))

;;;###autoload
(defun keylint-fix-all ()
  "Apply all fixes to the buffer: the safe ones, or all if `unsafeFixes' is set."
  (interactive)
  (keylint--flush)
  (let ((actions (condition-case nil
                     (append (eglot-code-actions (point-min) (point-max) "source.fixAll.keylint") nil)
                   ;; eglot signals this error if there are none.
                   (user-error nil)
                   (jsonrpc-error nil))))
    (if actions
        (keylint--apply (car actions))
      (message "keylint: nothing to fix"))))

;;;###autoload
(defun keylint-show-lineage ()
  "Show the lineage of the keys of the function at point."
  (interactive)
  (keylint--flush)
  (let* ((here (eglot--TextDocumentPositionParams))
         (place (list :uri (plist-get (plist-get here :textDocument) :uri)
                      :position (plist-get here :position)))
         (text (jsonrpc-request (eglot-current-server) :workspace/executeCommand
                                (list :command "keylint.showLineage" :arguments (vector place)))))
    (if (and (stringp text) (not (string= text "")))
        (with-help-window "*keylint lineage*"
          (princ text))
      (message "keylint: no keys are followed in this function"))))

(provide 'keylint)
;;; keylint.el ends here
