/** The definition of a rule, to be changed; before it is, what its state will become. */

import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Answer } from '../../../../sdk/client.js';
import { Changing } from '../../../parts/changing.js';
import { SqlEditor } from '../../../parts/code/sql-editor.js';
import { Dialog } from '../../../parts/dialog.js';
import { tried } from '../../../parts/notices.js';
import { useOnce } from '../../../parts/once.js';
import { TypedBefore } from '../../../parts/typed-before.js';
import { useKeptState } from '../../../state/kept.js';
import { t } from '../../../state/language.js';
import { usePolled } from '../../../state/polled.js';
import { ask, reasonOf } from '../../../state/server.js';
import type { Word } from '../../../state/words.js';
import { completions } from '../../playground/catalogue.js';
import { faultsOf } from '../../playground/faults.js';

type Rule = Answer<'GET /rules/{id}'>;
type Typed = { readonly statement: string; readonly text: string };
type Preview = Exclude<Answer<'PUT /rules/{id}'>, string>;

export function Definition({ id, onSaved }: { id: string; onSaved: () => void }) {
  const { value, error, reload } = usePolled(() => ask('GET /rules/{id}', { path: { id } }), 0, [id]);
  if (value === undefined) return <p class={error === undefined ? 'faint' : 'notice bad'}>{error ?? t('loading')}</p>;
  const saved = () => {
    reload();
    onSaved();
  };
  return <Editor id={id} rule={value} onSaved={saved} />;
}

/** What is typed of a rule: what the server has, or what was not saved before. */
function useTyped(id: string, { sql = '', ...rest }: Rule) {
  const stored: Typed = { statement: sql, text: JSON.stringify(rest, undefined, 2) };
  const [{ statement, text }, setTyped, forget] = useKeptState(`rule.${id}`, stored);
  const [isTyped, setIsTyped] = useState(statement !== stored.statement || text !== stored.text);
  const take = () => {
    setTyped(stored);
    setIsTyped(false);
    forget();
  };
  const shown = useRef(stored);
  useLayoutEffect(() => {
    // A rule that was saved shows what the server has made of it.
    if (JSON.stringify(shown.current) !== JSON.stringify(stored)) take();
    shown.current = stored;
  }, [JSON.stringify(stored)]);
  const saved = () => {
    forget();
    setIsTyped(false);
  };
  return { statement, text, type: setTyped, isTyped, take, saved };
}

function Editor({ id, rule, onSaved }: { id: string; rule: Rule; onSaved: () => void }) {
  const { statement, text, type, isTyped, take, saved } = useTyped(id, rule);
  const [error, setError] = useState('');
  const [preview, setPreview] = useState<Preview>();
  const [isBusy, once] = useOnce();
  const changed = (): Rule => ({ ...(JSON.parse(text) as Rule), ...(statement === '' ? {} : { sql: statement }) });
  const look = async () => {
    setError('');
    try {
      setPreview(
        (await ask('PUT /rules/{id}', { path: { id }, query: { dryRun: 'true' }, body: changed() })) as Preview,
      );
    } catch (refused) {
      setError(reasonOf(refused));
    }
  };
  const save = async () => {
    setPreview(undefined);
    if (!(await tried(() => ask('PUT /rules/{id}', { path: { id }, body: changed() })))) return;
    saved();
    onSaved();
  };
  return (
    <form
      class="card"
      onSubmit={(event) => {
        event.preventDefault();
        once(look);
      }}
    >
      {isTyped && <TypedBefore onDiscard={take} />}
      {rule.graph === undefined && (
        <SqlEditor
          label={t('statement')}
          text={statement}
          onText={(next) => type({ statement: next, text })}
          check={faultsOf}
          completions={completions}
        />
      )}
      <label class="field">
        {t('restOfRule')}
        <textarea
          class="mono"
          rows={14}
          spellcheck={false}
          value={text}
          onInput={(event) => type({ statement, text: event.currentTarget.value })}
        />
      </label>
      {error !== '' && (
        <p class="notice bad" role="alert">
          {error}
        </p>
      )}
      <div class="row end">
        <Changing>
          <button type="submit" class="main" aria-busy={isBusy}>
            {t('save')}
          </button>
        </Changing>
      </div>
      {preview !== undefined && <Effects preview={preview} onSave={save} onClose={() => setPreview(undefined)} />}
    </form>
  );
}

interface EffectsProps {
  readonly preview: Preview;
  readonly onSave: () => Promise<void>;
  readonly onClose: () => void;
}

const kinds: readonly (readonly ['kept' | 'lost' | 'empty', Word])[] = [
  ['kept', 'stateKept'],
  ['lost', 'stateLost'],
  ['empty', 'stateEmpty'],
];

function Effects({ preview: { state, warnings = [] }, onSave, onClose }: EffectsProps) {
  const [, once] = useOnce();
  const isNone = kinds.every(([kind]) => state[kind].length === 0);
  return (
    <Dialog title={t('saveAsk')} onClose={onClose}>
      {isNone && <p>{t('noState')}</p>}
      {kinds
        .filter(([kind]) => state[kind].length > 0)
        .map(([kind, word]) => (
          <section key={kind}>
            <h3 class={kind === 'lost' ? 'bad' : ''}>{t(word)}</h3>
            <ul>
              {state[kind].map((one) => (
                <li key={one}>{one}</li>
              ))}
            </ul>
          </section>
        ))}
      {warnings.map((warning) => (
        <p key={warning} class="notice">
          {warning}
        </p>
      ))}
      <div class="row end">
        <button type="button" onClick={onClose}>
          {t('cancel')}
        </button>
        <button type="button" class="main" onClick={() => once(onSave)}>
          {t('save')}
        </button>
      </div>
    </Dialog>
  );
}
