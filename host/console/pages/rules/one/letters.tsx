/** Dead letters of a rule: for each of its sinks where messages go that it refuses for good, how many did, and why. */

import { useState } from 'preact/hooks';
import type { Answer } from '../../../../sdk/client.js';
import { Changing } from '../../../parts/changing.js';
import { confirmed, Dialog } from '../../../parts/dialog.js';
import { Making } from '../../../parts/forms/making.js';
import { type Sink, SinkForm } from '../../../parts/forms/sink-form.js';
import { tried } from '../../../parts/notices.js';
import { short } from '../../../parts/numbers.js';
import { Scroller } from '../../../parts/scroller.js';
import { t } from '../../../state/language.js';
import { ask } from '../../../state/server.js';
import { type Operator, operatorsOf } from './operators.js';

type Rule = Answer<'GET /rules/{id}'>;
type Status = Answer<'GET /rules/{id}/status'>;
type Props = Readonly<Record<string, unknown>>;

/** A sink of a rule, and the one that gets what it refuses. */
interface Destination {
  readonly type: string;
  readonly props: Props;
  readonly letters:
    | { readonly type: string; readonly props: Props; readonly operator: Operator | undefined }
    | undefined;
  readonly operator: Operator | undefined;
}

/** Letter case of the property does not matter. */
const isLetters = (name: string) => name.toLowerCase() === 'deadletter';

function destinationsOf({ actions = [] }: Rule, status: Status): readonly Destination[] {
  const found = new Map(operatorsOf(status).map((operator) => [operator.name, operator]));
  // The sinks of dead letters are numbered behind all actions.
  let next = actions.length;
  return actions.map((action, i) => {
    const [[type, given] = ['', {}]] = Object.entries(action);
    const props = (given ?? {}) as Props;
    const [, wanted] = Object.entries(props).find(([name, value]) => isLetters(name) && value) ?? [];
    const [[name, own] = []] = Object.entries((wanted ?? {}) as Props);
    const letters = name === undefined ? undefined : { type: name, props: (own ?? {}) as Props };
    const number = letters === undefined ? 0 : next++;
    return {
      type,
      props,
      operator: found.get(`sink_${type}_${i}`),
      letters: letters && { ...letters, operator: found.get(`sink_${letters.type}_${number}`) },
    };
  });
}

interface LettersProps {
  readonly id: string;
  readonly rule: Rule;
  readonly status: Status;
  readonly onChanged: () => void;
}

export function Letters({ id, rule, status, onChanged }: LettersProps) {
  const [changed, setChanged] = useState<number>();
  const destinations = destinationsOf(rule, status);
  const keep = (i: number, letters: Props | undefined) => {
    const actions = (rule.actions ?? []).map((action, k) => (k === i ? withLetters(action, letters) : action));
    return ask('PUT /rules/{id}', { path: { id }, body: { ...rule, actions } });
  };
  const remove = async (i: number) => {
    if (!(await confirmed(t('lettersRemoveAsk'), t('remove')))) return;
    await tried(() => keep(i, undefined));
    onChanged();
  };
  const done = () => {
    setChanged(undefined);
    onChanged();
  };
  return (
    <section class="card" aria-label={t('deadLetters')}>
      <h2>{t('deadLetters')}</h2>
      <p class="faint">{t('deadLettersHint')}</p>
      <Scroller label={t('deadLetters')}>
        <table>
          <thead>
            <tr>
              <th>{t('sinkColumn')}</th>
              <th class="number">{t('refused')}</th>
              <th>{t('lettersTo')}</th>
              <th class="number">{t('lettersOut')}</th>
              <th class="end">{t('actions')}</th>
            </tr>
          </thead>
          <tbody>
            {destinations.map((destination, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: sinks of a rule have their place alone
              <Row key={i} {...destination} change={() => setChanged(i)} remove={() => void remove(i)} />
            ))}
          </tbody>
        </table>
      </Scroller>
      {changed !== undefined && (
        <Dialog title={t('deadLetters')} onClose={() => setChanged(undefined)}>
          <LettersForm keep={(letters) => keep(changed, letters)} done={done} />
        </Dialog>
      )}
    </section>
  );
}

interface RowProps extends Destination {
  readonly change: () => void;
  readonly remove: () => void;
}

function Row({ type, operator, letters, change, remove }: RowProps) {
  return (
    <tr>
      <td>{type}</td>
      <td class={`number ${(operator?.errors ?? 0) > 0 ? 'bad' : ''}`} title={operator?.lastError}>
        {short(operator?.errors ?? 0)}
      </td>
      <td class="long">
        {letters === undefined ? (
          <span class="faint">{t('lettersNowhere')}</span>
        ) : (
          <>
            {letters.type} <code>{JSON.stringify(letters.props)}</code>
          </>
        )}
      </td>
      <td class="number">{letters === undefined ? '' : short(letters.operator?.given ?? 0)}</td>
      <td class="orders">
        <Changing>
          <button type="button" onClick={change}>
            {t(letters === undefined ? 'lettersSet' : 'edit')}
            <span class="hidden"> {`${t('deadLetters')} ${type}`}</span>
          </button>
        </Changing>
        {letters !== undefined && (
          <Changing>
            <button type="button" class="danger" onClick={remove}>
              {t('remove')}
              <span class="hidden"> {`${t('deadLetters')} ${type}`}</span>
            </button>
          </Changing>
        )}
      </td>
    </tr>
  );
}

interface LettersFormProps {
  readonly keep: (letters: Props) => Promise<unknown>;
  readonly done: () => void;
}

function LettersForm({ keep, done }: LettersFormProps) {
  const [sink, setSink] = useState<Sink>();
  return (
    <Making make={() => keep(sink?.action() ?? { log: {} })} done={done} word="save">
      <SinkForm word="lettersTo" onChange={setSink} />
    </Making>
  );
}

/** The action with another sink for its dead letters, or without one. */
function withLetters(action: Props, letters: Props | undefined): Props {
  return Object.fromEntries(
    Object.entries(action).map(([type, props]) => {
      const others = Object.entries((props ?? {}) as Props).filter(([name]) => !isLetters(name));
      return [type, Object.fromEntries([...others, ...(letters === undefined ? [] : [['deadLetter', letters]])])];
    }),
  );
}
