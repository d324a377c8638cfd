/** The frame of forms that make something: what the server refuses stands in the form. */

import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { t } from '../../state/language.js';
import { reasonOf } from '../../state/server.js';
import type { Word } from '../../state/words.js';
import { Changing } from '../changing.js';
import { Cancel } from '../dialog.js';
import { say } from '../notices.js';
import { useOnce } from '../once.js';

interface MakingProps {
  /** Makes it; what it resolves with is said when it is a text. */
  readonly make: () => Promise<unknown>;
  readonly done: () => void;
  readonly children: ComponentChildren;
  /** A button beside, as for a check. */
  readonly beside?: ComponentChildren;
  /** What the button says that makes it. */
  readonly word?: Word;
  /** False while there is nothing that could be made. */
  readonly isReady?: boolean;
}

export function Making({ make, done, children, beside, word = 'create', isReady = true }: MakingProps) {
  const [error, setError] = useState('');
  const [isBusy, once] = useOnce();
  const submit = async () => {
    setError('');
    try {
      const answer = await make();
      // Some answers have no words of their own.
      const isSaid = typeof answer === 'string' && answer !== '' && answer !== 'success';
      say(isSaid ? answer : t('done', { n: 1 }));
      done();
    } catch (refused) {
      setError(reasonOf(refused));
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        once(submit);
      }}
    >
      {children}
      {error !== '' && (
        <p class="notice bad" role="alert">
          {error}
        </p>
      )}
      <div class="row end">
        {beside}
        <Cancel />
        <Changing>
          <button type="submit" class="main" aria-busy={isBusy} disabled={!isReady}>
            {t(word)}
          </button>
        </Changing>
      </div>
    </form>
  );
}

interface TextFieldProps {
  readonly label: string;
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly hint?: string;
  readonly isOptional?: boolean;
  readonly rows?: number;
}

/** A field of one line, or of several. */
export function TextField({ label, text, onText, hint, isOptional = false, rows }: TextFieldProps) {
  const onInput = (event: { currentTarget: { value: string } }) => onText(event.currentTarget.value);
  const id = useId();
  const rest = {
    required: !isOptional,
    autocomplete: 'off',
    spellcheck: false,
    'aria-describedby': `${id}hint`,
  } as const;
  const common = { id, value: text, onInput, ...rest };
  return (
    <div class={`field ${rows === undefined ? '' : 'wide'}`}>
      <label for={id}>{label}</label>
      {rows === undefined ? <input {...common} /> : <textarea class="mono" rows={rows} {...common} />}
      <span class="hint faint" id={`${id}hint`}>
        {hint}
      </span>
    </div>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly choices: readonly string[];
  readonly value: string;
  readonly onChoice: (value: string) => void;
  readonly hint?: string;
}

export function Choice({ label, choices, value, onChoice, hint }: ChoiceProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        aria-describedby={`${id}hint`}
        value={value}
        onChange={(event) => onChoice(event.currentTarget.value)}
      >
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {choice || '–'}
          </option>
        ))}
      </select>
      <span class="hint faint" id={`${id}hint`}>
        {hint}
      </span>
    </div>
  );
}
