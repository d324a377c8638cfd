/** The definition of a rule, to be changed; before it is, what its state will become. */

import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Answer } from '../../../../sdk/client.js';
import { Changing } from '../../../parts/changing.js';
import { SqlEditor } from '../../../parts/code/sql-editor.js';
import { Cancel, Dialog } from '../../../parts/dialog.js';
import { tried } from '../../../parts/notices.js';
import { useOnce } from '../../../parts/once.js';
import { TypedBefore } from '../../../parts/typed-before.js';
import { isSame, useKeptState } from '../../../state/kept.js';
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
  const [typed, setTyped, forget] = useKeptState(`rule.${id}`, stored);
  const [isTyped, setIsTyped] = useState(!isSame(typed, stored));
  // A key may come between an answer and the next look of the page.
  const latest = useRef(typed);
  const type = (next: Typed) => {
    latest.current = next;
    setTyped(next);
  };
  const given = useRef(typed);
  const take = () => {
    given.current = stored;
    type(stored);
    setIsTyped(false);
    forget();
  };
  const saved = (what: Typed) => {
    given.current = what;
    forget(what);
    setIsTyped(!isSame(latest.current, what));
  };
  const shown = useRef(stored);
  useLayoutEffect(() => {
    if (isSame(shown.current, stored)) return;
    shown.current = stored;
    // A rule that was saved shows what the server has made of it, but for what was typed since.
    const next = typedOn(stored, given.current, latest.current);
    if (isSame(next, stored)) return take();
    type(next);
    setIsTyped(true);
  }, [JSON.stringify(stored)]);
  return { typed, type, isTyped, take, saved };
}

/** What the server has, with each text that was changed after it was given to the server. */
function typedOn(stored: Typed, given: Typed, now: Typed): Typed {
  return {
    statement: now.statement === given.statement ? stored.statement : now.statement,
    text: now.text === given.text ? stored.text : now.text,
  };
}

/** A text that is looked at before it is saved, and what saving it would do. */
interface Looked {
  readonly typed: Typed;
  readonly preview: Preview;
}

const ruleOf = ({ statement, text }: Typed): Rule => ({
  ...(JSON.parse(text) as Rule),
  ...(statement === '' ? {} : { sql: statement }),
});

function Editor({ id, rule, onSaved }: { id: string; rule: Rule; onSaved: () => void }) {
  const { typed, type, isTyped, take, saved } = useTyped(id, rule);
  const [error, setError] = useState('');
  const [looked, setLooked] = useState<Looked>();
  const [isBusy, once] = useOnce();
  const put = (what: Typed, query: { readonly dryRun?: 'true' }) =>
    ask('PUT /rules/{id}', { path: { id }, query, body: ruleOf(what) });
  const look = async () => {
    setError('');
    try {
      setLooked({ typed, preview: (await put(typed, { dryRun: 'true' })) as Preview });
    } catch (refused) {
      setError(reasonOf(refused));
    }
  };
  // What was looked at is saved: what has been typed since was not.
  const save = async ({ typed: what }: Looked) => {
    setLooked(undefined);
    if (!(await tried(async () => put(what, {})))) return;
    saved(what);
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
          text={typed.statement}
          onText={(statement) => type({ ...typed, statement })}
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
          value={typed.text}
          onInput={(event) => type({ ...typed, text: event.currentTarget.value })}
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
      {looked !== undefined && (
        <Effects preview={looked.preview} onSave={() => save(looked)} onClose={() => setLooked(undefined)} />
      )}
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
        <Cancel />
        <button type="button" class="main" onClick={() => once(onSave)}>
          {t('save')}
        </button>
      </div>
    </Dialog>
  );
}
