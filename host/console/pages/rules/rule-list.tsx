/** All rules: looked for, started, stopped and deleted, one or many at a time. */
import { useMemo, useState } from 'preact/hooks';
import type { Answer } from '../../../sdk/client.js';
import { Changing } from '../../parts/changing.js';
import { confirmed, focusContent } from '../../parts/dialog.js';
import { LongList } from '../../parts/long-list.js';
import { say } from '../../parts/notices.js';
import { useOnce } from '../../parts/once.js';
import { State, stateWord } from '../../parts/state.js';
import { t } from '../../state/language.js';
import { usePolled } from '../../state/polled.js';
import { linkTo } from '../../state/route.js';
import { ask, reasonOf } from '../../state/server.js';

type Item = Answer<'GET /rules'>[number];
type Order = 'start' | 'stop' | 'restart' | 'remove';

/** Long lists are asked for less often. */
const everyMs = 2500;
const everyLongMs = 15_000;
const longList = 1000;

/** Requests of one order under way. */
const atOnce = 8;

export function RuleList() {
  const { value, error, reload } = useRules();
  return (
    <div class="page">
      {value !== undefined && value.length > 0 ? (
        <Chooser rules={value} reload={reload} error={error} />
      ) : (
        <>
          <header>
            <h1>{t('rules')}</h1>
          </header>
          <p class="notice">{error ?? t(value === undefined ? 'loading' : 'noRules')}</p>
        </>
      )}
    </div>
  );
}

function useRules() {
  return usePolled(
    () => ask('GET /rules', { query: { trouble: 'true' } }),
    (rules) => (rules.length > longList ? everyLongMs : everyMs),
    [],
  );
}

interface ChooserProps {
  readonly rules: readonly Item[];
  readonly reload: () => void;
  readonly error: string | undefined;
}

/** The list, what of it is looked for, and orders for what is chosen in it. */
function Chooser({ rules, reload, error }: ChooserProps) {
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [, once] = useOnce();
  const shown = useMemo(() => found(rules, text), [rules, text]);
  const carry = async (order: Order, ids: readonly string[]) => {
    const what = ids.length === 1 ? ids[0]! : t('rulesCount', { n: ids.length });
    if (order === 'remove' && !(await confirmed(t('removeAsk', { n: what }), t('remove')))) return;
    await carryOut(order, ids);
    setChosen(new Set());
    reload();
    if (order === 'remove') focusContent();
  };
  const give: Give = (order, ids) => once(() => carry(order, ids));
  const choose = (ids: readonly string[], isChosen: boolean) => {
    const next = new Set(chosen);
    for (const id of ids) isChosen ? next.add(id) : next.delete(id);
    setChosen(next);
  };
  const selected = shown.filter(({ id }) => chosen.has(id)).map(({ id }) => id);
  return (
    <>
      <header>
        <h1>{t('rules')}</h1>
        {selected.length > 0 && <Orders ids={selected} give={give} />}
      </header>
      <label class="field">
        <span class="hidden">{t('search')}</span>
        <input
          type="search"
          placeholder={t('searchRules')}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      {error !== undefined && <p class="notice bad">{error}</p>}
      <div class="fill">
        <p class="faint" role="status">
          {t('shown', { n: shown.length, all: rules.length })}
        </p>
        <LongList
          label={t('rules')}
          items={shown}
          keyOf={({ id }) => id}
          heights={[2.7, 4.6]}
          columns="rules-columns"
          head={<Head items={shown} chosen={selected.length} choose={choose} />}
          row={(rule) => <Row rule={rule} isChosen={chosen.has(rule.id)} choose={choose} give={give} />}
        />
      </div>
    </>
  );
}

/** Rules in which each word of the text occurs; those in trouble come first. */
function found(rules: readonly Item[], text: string): readonly Item[] {
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const textOf = ({ id, name, status, tags, trouble }: Item) =>
    [id, name, status, t(stateWord(status)), ...(tags ?? []), ...(trouble ?? [])].join('\n').toLowerCase();
  const matching = rules.filter((rule) => {
    const all = words.length === 0 ? '' : textOf(rule);
    return words.every((word) => all.includes(word));
  });
  const isTroubled = ({ trouble }: Item) => (trouble?.length ?? 0) > 0;
  return [...matching.filter(isTroubled), ...matching.filter((rule) => !isTroubled(rule))];
}

type Give = (order: Order, ids: readonly string[]) => void;
type Choose = (ids: readonly string[], isChosen: boolean) => void;

function Orders({ ids, give }: { ids: readonly string[]; give: Give }) {
  return (
    <div class="row">
      <span>{t('selected', { n: ids.length })}</span>
      <Changing>
        <button type="button" onClick={() => give('start', ids)}>
          {t('start')}
        </button>
        <button type="button" onClick={() => give('stop', ids)}>
          {t('stop')}
        </button>
        <button type="button" onClick={() => give('restart', ids)}>
          {t('restart')}
        </button>
        <button type="button" class="danger" onClick={() => give('remove', ids)}>
          {t('remove')}
        </button>
      </Changing>
    </div>
  );
}

function Head({ items, chosen, choose }: { items: readonly Item[]; chosen: number; choose: Choose }) {
  const isAll = chosen > 0 && chosen === items.length;
  return (
    <>
      <th class="check">
        <input
          type="checkbox"
          aria-label={t('selectAll')}
          checked={isAll}
          indeterminate={chosen > 0 && !isAll}
          onChange={() =>
            choose(
              items.map(({ id }) => id),
              !isAll,
            )
          }
        />
      </th>
      <th class="name">{t('name')}</th>
      <th>{t('state')}</th>
      <th>{t('tags')}</th>
      <th>{t('trouble')}</th>
      <th class="end">{t('actions')}</th>
    </>
  );
}

interface RowProps {
  readonly rule: Item;
  readonly isChosen: boolean;
  readonly choose: Choose;
  readonly give: Give;
}

function Row({ rule: { id, name, status, tags, trouble = [] }, isChosen, choose, give }: RowProps) {
  const isOn = /^(running|starting)/i.test(status);
  return (
    <>
      <td class="check">
        <input
          type="checkbox"
          aria-label={t('select', { name: id })}
          checked={isChosen}
          onChange={() => choose([id], !isChosen)}
        />
      </td>
      <td class="name" title={name}>
        <a href={linkTo('rules', id)}>{id}</a>
        {name !== id && <span class="faint"> {name}</span>}
      </td>
      <td class="state-cell">
        <State status={status} isTroubled={trouble.length > 0} />
      </td>
      <td class="tags">
        {tags?.map((tag) => (
          <span key={tag} class="tag">
            {tag}
          </span>
        ))}
      </td>
      <td class={`trouble ${trouble.length > 0 ? 'bad' : ''}`} title={trouble.join('\n')}>
        {trouble.join('; ')}
      </td>
      <td class="actions row end">
        <Changing>
          <button type="button" onClick={() => give(isOn ? 'stop' : 'start', [id])}>
            {t(isOn ? 'stop' : 'start')}
            <span class="hidden"> {id}</span>
          </button>
          <button type="button" class="danger wide-only" onClick={() => give('remove', [id])}>
            {t('remove')}
            <span class="hidden"> {id}</span>
          </button>
        </Changing>
      </td>
    </>
  );
}

/** Gives an order to many rules, a few at a time, and says what came of it. */
async function carryOut(order: Order, ids: readonly string[]): Promise<void> {
  const waiting = [...ids];
  const refused: string[] = [];
  const work = async () => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      try {
        const path = { id };
        await (order === 'remove' ? ask('DELETE /rules/{id}', { path }) : ask(`POST /rules/{id}/${order}`, { path }));
      } catch (error) {
        refused.push(`${id}: ${reasonOf(error)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  if (refused.length === 0) return say(t('done', { n: ids.length }));
  say(t('notDone', { n: refused.length, why: refused.slice(0, 3).join('; ') }), true);
}
