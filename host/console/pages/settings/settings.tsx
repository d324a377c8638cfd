/** The server: what it is, its threads, and the settings that change while it runs. */

import { useState } from 'preact/hooks';
import type { Input } from '../../../sdk/client.js';
import { Changing } from '../../parts/changing.js';
import { Choice } from '../../parts/forms/making.js';
import { tried } from '../../parts/notices.js';
import { bytes, short } from '../../parts/numbers.js';
import { Scroller } from '../../parts/scroller.js';
import { State } from '../../parts/state.js';
import { t } from '../../state/language.js';
import { usePolled } from '../../state/polled.js';
import { ask } from '../../state/server.js';
import type { Word } from '../../state/words.js';

type Body = Input<'PATCH /configs'>['body'];

const everyMs = 5000;

export function ServerSettings() {
  return (
    <div class="page">
      <header>
        <h1>{t('settings')}</h1>
      </header>
      <div class="halves">
        <Changeable />
        <Facts />
      </div>
      <Planes />
    </div>
  );
}

function Facts() {
  const { value, error } = usePolled(() => ask('GET /'), everyMs, []);
  if (value === undefined) return <p class={error === undefined ? 'faint' : 'notice bad'}>{error ?? t('loading')}</p>;
  const { version, os, arch, cpuUsage, memoryUsed, memoryTotal } = value;
  const facts: readonly (readonly [Word, string])[] = [
    ['version', version],
    ['machine', `${os}, ${arch}`],
    ['processor', cpuUsage],
    ['memory', `${bytes(Number(memoryUsed))} ${t('ofTotal', { n: bytes(Number(memoryTotal)) })}`],
  ];
  return (
    <section class="card" aria-label={t('server')}>
      <h2>{t('server')}</h2>
      <dl class="facts">
        {facts.map(([word, text]) => (
          <div key={word}>
            <dt>{t(word)}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** The threads that run rules. */
function Planes() {
  const { value = [] } = usePolled(() => ask('GET /planes'), everyMs, []);
  if (value.length === 0) return null;
  return (
    <section class="card" aria-label={t('planes')}>
      <h2>{t('planes')}</h2>
      <Scroller label={t('planes')}>
        <table>
          <thead>
            <tr>
              <th class="number count">#</th>
              <th>{t('state')}</th>
              <th class="number">{t('rules')}</th>
              <th class="number">{t('load')}</th>
            </tr>
          </thead>
          <tbody>
            {value.map(({ plane, status, rules, load }) => (
              <tr key={plane}>
                <td class="number">{plane}</td>
                <td>
                  <State status={status} />
                </td>
                <td class="number">{short(rules)}</td>
                <td class="number">{`${short(Math.round(load * 100))} %`}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroller>
    </section>
  );
}

type Name = 'debug' | 'logLevel' | 'consoleLog' | 'fileLog' | 'metricsDump';

const switches = ['', 'true', 'false'];
const choices: readonly (readonly [name: Name, word: Word, values: readonly string[]])[] = [
  ['logLevel', 'logLevel', ['', 'debug', 'info', 'warn', 'error', 'fatal', 'panic']],
  ['debug', 'debugLog', switches],
  ['consoleLog', 'consoleLog', switches],
  ['fileLog', 'fileLog', switches],
  ['metricsDump', 'metricsDump', switches],
];

/** Settings of the running server: what is not chosen stays as it is. */
function Changeable() {
  const [chosen, setChosen] = useState<Partial<Record<Name, string>>>({});
  const [zone, setZone] = useState('');
  const dump = usePolled(() => ask('GET /metrics/dump/check'), 0, []);
  const save = async () => {
    if (!(await tried(() => ask('PATCH /configs', { body: bodyOf(chosen, zone) }), t('settingsSaved')))) return;
    setChosen({});
    setZone('');
    dump.reload();
  };
  const isNothing = zone === '' && Object.values(chosen).every((value) => value === '');
  return (
    <section class="card" aria-label={t('untilStart')}>
      <h2>{t('untilStart')}</h2>
      <p class="faint">{t('untilStartHint')}</p>
      <form
        class="fields"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        {choices.map(([name, word, values]) => (
          <Choice
            key={name}
            label={t(word)}
            choices={values}
            value={chosen[name] ?? ''}
            onChoice={(value) => setChosen({ ...chosen, [name]: value })}
            hint={
              name === 'metricsDump' && dump.value !== undefined
                ? t(dump.value === 'enabled' ? 'nowOn' : 'nowOff')
                : undefined
            }
          />
        ))}
        <label class="field">
          {t('timezone')}
          <input
            autocomplete="off"
            placeholder="Local, Europe/Berlin, …"
            value={zone}
            onInput={(event) => setZone(event.currentTarget.value)}
          />
        </label>
        <div class="row end wide">
          <Changing>
            <button type="submit" class="main" disabled={isNothing}>
              {t('save')}
            </button>
          </Changing>
        </div>
      </form>
    </section>
  );
}

function bodyOf({ logLevel, metricsDump, ...chosen }: Partial<Record<Name, string>>, timezone: string): Body {
  const given = Object.entries(chosen).filter(([, value]) => value !== '');
  return {
    ...Object.fromEntries(given.map(([name, value]) => [name, value === 'true'])),
    ...(logLevel && { logLevel }),
    ...(metricsDump && { metricsDumpConfig: { enable: metricsDump === 'true' } }),
    ...(timezone !== '' && { timezone }),
  };
}
