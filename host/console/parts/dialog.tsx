/** Dialogues: a frame for forms, and questions before something is gone. */
import { signal } from '@preact/signals';
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useLayoutEffect, useRef } from 'preact/hooks';
import { t } from '../state/language.js';
import { route } from '../state/route.js';
import type { Word } from '../state/words.js';

interface DialogProps {
  readonly title: string;
  /** Without it the dialogue stays until what it is for is done. */
  readonly onClose?: () => void;
  readonly children: ComponentChildren;
}

/** Leads who uses keys to the begin of the page, when what had the focus is gone. */
export function focusContent(): void {
  document.getElementById('content')?.focus();
}

/** Leaves the dialogue that a part stands in. */
const Leave = createContext(() => {});

/**
 * A dialogue over the page, open as long as it is drawn. The focus goes back to what has opened it. Typed text is
 * thrown away only after a question.
 */
export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const isTyped = useRef(false);
  const leave = useLeave(isTyped, onClose);
  // Effects after a frame would take the focus from what has got it meanwhile.
  useLayoutEffect(() => {
    const opener = document.activeElement;
    // The browser asks before a page with typed text is left.
    const leaving = (event: Event) => isTyped.current && event.preventDefault();
    addEventListener('beforeunload', leaving);
    dialog.current?.showModal();
    return () => {
      removeEventListener('beforeunload', leaving);
      // A page below a dialogue takes no focus before that is gone.
      queueMicrotask(() => {
        if (opener instanceof HTMLElement && opener.isConnected && opener !== document.body) opener.focus();
        // Of two dialogues that go at once the lower one may have given it back already.
        else if (document.activeElement === document.body) focusContent();
      });
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-label={title}
      onInput={() => {
        isTyped.current = true;
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || event.isComposing) return;
        // Left to it, a browser closes all dialogues at a second Escape, without a question.
        event.preventDefault();
        leave();
      }}
      onCancel={(event) => {
        // Of a chosen file as well, which closes nothing.
        if (event.target !== dialog.current) return;
        event.preventDefault();
        leave();
      }}
      onClose={() => {
        // A gesture for back may close it all the same.
        dialog.current?.showModal();
        leave();
      }}
    >
      <Leave.Provider value={leave}>
        <div>
          <h2>{title}</h2>
          {children}
        </div>
      </Leave.Provider>
    </dialog>
  );
}

/** Closes a dialogue, after a question where something is typed in it. */
function useLeave(isTyped: { readonly current: boolean }, onClose: (() => void) | undefined): () => void {
  const isAsking = useRef(false);
  const ask = async () => {
    isAsking.current = true;
    const isLeft = await confirmed(t('discardAsk'), t('discard'), t('keepTyped'));
    isAsking.current = false;
    if (isLeft) onClose?.();
  };
  return () => {
    if (onClose === undefined || isAsking.current) return;
    if (isTyped.current) void ask();
    else onClose();
  };
}

/** The button that leaves the dialogue it stands in. */
export function Cancel({ word = 'cancel' }: { word?: Word }) {
  const leave = useContext(Leave);
  return (
    <button type="button" onClick={leave}>
      {t(word)}
    </button>
  );
}

interface Question {
  readonly text: string;
  readonly yes: string;
  readonly no: string;
  readonly answer: (isYes: boolean) => void;
}

const question = signal<Question | undefined>(undefined);

/** Asks before something that can't be undone; `yes` names what would be done, `no` what else. */
export function confirmed(text: string, yes: string, no = t('cancel')): Promise<boolean> {
  return new Promise((resolve) => {
    question.value = {
      text,
      yes,
      no,
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
  const at = route.value.join('/');
  // On another page there is nothing left that it asks about.
  useLayoutEffect(() => () => question.value?.answer(false), [at]);
  if (value === undefined) return null;
  return (
    <Dialog title={value.text} onClose={() => value.answer(false)}>
      <div class="row end">
        <button type="button" onClick={() => value.answer(false)}>
          {value.no}
        </button>
        <button type="button" class="danger" onClick={() => value.answer(true)}>
          {value.yes}
        </button>
      </div>
    </Dialog>
  );
}
