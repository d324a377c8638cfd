/** Dialogues: a frame for forms, and questions before something is gone. */
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { t } from '../state/language.js';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** Leads who uses keys to the begin of the page, when what had the focus is gone. */
export function focusContent(): void {
  document.getElementById('content')?.focus();
}

/** A dialogue over the page, open as long as it is drawn. The focus goes back to what has opened it. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  // Effects after a frame would take the focus from what has got it meanwhile.
  useLayoutEffect(() => {
    const opener = document.activeElement;
    const { current } = dialog;
    let isTyped = false;
    const typed = () => {
      isTyped = true;
    };
    // The browser asks before a page with typed text is left.
    const leaving = (event: Event) => isTyped && event.preventDefault();
    current?.addEventListener('input', typed);
    addEventListener('beforeunload', leaving);
    current?.showModal();
    return () => {
      removeEventListener('beforeunload', leaving);
      // A page below a dialogue takes no focus before that is gone.
      queueMicrotask(() => {
        if (opener instanceof HTMLElement && opener.isConnected && opener !== document.body) opener.focus();
        else focusContent();
      });
    };
  }, []);
  return (
    <dialog ref={dialog} aria-label={title} onClose={onClose}>
      <div>
        <h2>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

interface Question {
  readonly text: string;
  readonly yes: string;
  readonly answer: (isYes: boolean) => void;
}

const question = signal<Question | undefined>(undefined);

/** Asks before something that can't be undone; `yes` names what would be done. */
export function confirmed(text: string, yes: string): Promise<boolean> {
  return new Promise((resolve) => {
    question.value = {
      text,
      yes,
      answer: (isYes) => {
        question.value = undefined;
        resolve(isYes);
      },
    };
  });
}

/** Where questions appear; drawn once. */
export function Questions() {
  const { value } = question;
  if (value === undefined) return null;
  return (
    <Dialog title={value.text} onClose={() => value.answer(false)}>
      <div class="row end">
        <button type="button" onClick={() => value.answer(false)}>
          {t('cancel')}
        </button>
        <button type="button" class="danger" onClick={() => value.answer(true)}>
          {value.yes}
        </button>
      </div>
    </Dialog>
  );
}
