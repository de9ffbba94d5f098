;;; What test_emacs.py has Emacs do: eglot and flymake on files of the project.  -*- lexical-binding: t; -*-

;; The environment names the server (KEYLINT), the project (PROJECT) and the report (REPORT).

(require 'json)
(require 'project)
(add-to-list 'load-path (expand-file-name "../emacs" (file-name-directory load-file-name)))
(require 'keylint)

(setq keylint-command (list (getenv "KEYLINT") "server")
      eglot-autoshutdown nil
      eglot-sync-connect 20
      eglot-events-buffer-size 0
      eglot-send-changes-idle-time 0.05
      make-backup-files nil
      ;; Without a terminal there is nobody to ask.
      eglot-confirm-server-initiated-edits nil)

;; The project is the folder, though nothing there is under version control.
(setq project-find-functions (list (lambda (_) (cons 'transient (file-name-as-directory (getenv "PROJECT"))))))

(defun wait-for (what holds)
  "Wait until HOLDS gives non-nil; WHAT is waited for."
  (let ((end (time-add (current-time) 20)) answer)
    (while (and (not (setq answer (funcall holds))) (time-less-p (current-time) end))
      (accept-process-output nil 0.05)
      ;; In batch mode nothing is ever idle, so that timers of idleness are run by hand.
      (when (bound-and-true-p eglot--managed-mode) (eglot--signal-textDocument/didChange)))
    (or answer (error "Waited in vain for %s" what))))

(defun open-file (name)
  "Visit the file NAME of the project with eglot."
  (find-file (expand-file-name name (getenv "PROJECT")))
  (python-mode)
  (unless (bound-and-true-p eglot--managed-mode)
    (apply #'eglot--connect (eglot--guess-contact)))
  (wait-for "eglot" (lambda () (bound-and-true-p eglot--managed-mode)))
  (flymake-start)
  (wait-for (concat "diagnostics of " name) #'flymake-diagnostics)
  (current-buffer))

(defun place (position)
  "The row and column of POSITION, from 0; columns count characters."
  (save-excursion
    (goto-char position)
    (vector (1- (line-number-at-pos nil t)) (- (point) (line-beginning-position)))))

(defun shown ()
  "What flymake shows."
  (vconcat
   (mapcar (lambda (it)
             `((start . ,(place (flymake-diagnostic-beg it)))
               (end . ,(place (flymake-diagnostic-end it)))
               (type . ,(format "%s" (flymake-diagnostic-type it)))
               (text . ,(substring-no-properties (flymake-diagnostic-text it)))))
           (flymake-diagnostics))))

(defun report ()
  "Do what is tested; what came out."
  (let (windows train actions lineage after)
    (open-file "windows.py")
    (setq windows (shown))
    (goto-char (flymake-diagnostic-beg (car (flymake-diagnostics))))
    (setq actions (append (eglot-code-actions (point) (point)) nil))
    (keylint--apply (seq-find (lambda (it) (string-match-p "split" (plist-get it :title))) actions))
    (wait-for "the fixed buffer to be silent" (lambda () (flymake-start) (null (flymake-diagnostics))))
    (write-region nil nil (expand-file-name "windows.fixed" (getenv "PROJECT")))
    (set-buffer-modified-p nil)

    (open-file "train.py")
    (setq train (shown))
    (goto-char (point-min))
    (search-forward "weights =")
    (keylint-show-lineage)
    (setq lineage (with-current-buffer "*keylint lineage*" (buffer-string)))
    (keylint-fix-all)
    (wait-for "the fix to be reported"
              (lambda ()
                (flymake-start)
                (not (seq-find (lambda (it) (string-match-p "KeyArray" (flymake-diagnostic-text it)))
                               (flymake-diagnostics)))))
    (setq after (shown))
    (write-region nil nil (expand-file-name "train.fixed" (getenv "PROJECT")))
    (set-buffer-modified-p nil)
    (eglot-shutdown (eglot-current-server))
    `((windows . ,windows) (train . ,train) (after . ,after) (lineage . ,lineage)
      (titles . ,(vconcat (mapcar (lambda (it) (plist-get it :title)) actions))))))

(let ((answer (condition-case problem
                  (report)
                (error `((problem . ,(format "%S" problem)))))))
  (with-temp-file (getenv "REPORT")
    (set-buffer-file-coding-system 'utf-8)
    (insert (json-encode answer))))
(kill-emacs 0)
