/** Earlier texts of a rule beside the one that it has, and the way back: an ordinary update. */
import { useState } from 'preact/hooks';
import type { Answer } from '../../../../sdk/client.js';
import { linesOf } from '../../../../sdk/differences.js';
import { Changing } from '../../../parts/changing.js';
import { Lines } from '../../../parts/lines.js';
import { tried } from '../../../parts/notices.js';
import { moment } from '../../../parts/numbers.js';
import { t } from '../../../state/language.js';
import { usePolled } from '../../../state/polled.js';
import { ask } from '../../../state/server.js';
import { laterVersion } from './later-version.js';

type Rule = Answer<'GET /rules/{id}'>;

export function Versions({ id, onSaved }: { id: string; onSaved: () => void }) {
  const [shown, setShown] = useState<number>();
  const path = { id };
  const { value, error, reload } = usePolled(
    async () => ({ now: await ask('GET /rules/{id}', { path }), all: await ask('GET /rules/{id}/versions', { path }) }),
    0,
    [id],
  );
  const back = async (rule: Rule) => {
    // A version that the rule was given is no text: the next one has to be greater.
    const version = laterVersion(value?.now.version);
    if (!(await tried(() => ask('PUT /rules/{id}', { path, body: { ...rule, version } })))) return;
    setShown(undefined);
    reload();
    onSaved();
  };
  return (
    <section class="card" aria-label={t('versions')}>
      <h2>{t('versions')}</h2>
      <p class="faint">{t('versionsHint')}</p>
      {value === undefined && <p class="notice">{error ?? t('loading')}</p>}
      {value?.all.length === 0 && <p class="faint">{t('noVersions')}</p>}
      <ul class="plain-list">
        {value?.all.map(({ number, until }) => (
          <li key={number}>
            <button
              type="button"
              class="plain"
              aria-expanded={number === shown}
              onClick={() => setShown(number === shown ? undefined : number)}
            >
              {t('versionUntil', { n: number, time: moment(until) })}
            </button>
            {number === shown && <Version id={id} number={number} now={value.now} back={back} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

interface VersionProps {
  readonly id: string;
  readonly number: number;
  readonly now: Rule;
  readonly back: (rule: Rule) => Promise<void>;
}

function Version({ id, number, now, back }: VersionProps) {
  const path = { id, number: String(number) };
  const { value, error } = usePolled(() => ask('GET /rules/{id}/versions/{number}', { path }), 0, [id, number]);
  if (value === undefined) return <p class="faint">{error ?? t('loading')}</p>;
  const { rule } = value;
  return (
    <>
      <Lines lines={linesOf(textOf(now), textOf(rule))} />
      <Changing>
        <button type="button" onClick={() => void back(rule)}>
          {t('takeBack')}
          <span class="hidden"> {number}</span>
        </button>
      </Changing>
    </>
  );
}

/** Without what is no part of the text: whether it was stopped by hand. */
function textOf({ triggered: _triggered, ...rule }: Rule): string {
  return JSON.stringify(rule, undefined, 2);
}
