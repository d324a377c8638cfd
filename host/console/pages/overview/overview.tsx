/** The server at a glance, live. */
import type { Answer } from '../../../sdk/client.js';
import { Chart } from '../../parts/chart.js';
import { useRates } from '../../parts/history.js';
import { Losses } from '../../parts/losses.js';
import { bytes, moment, short } from '../../parts/numbers.js';
import { Scroller } from '../../parts/scroller.js';
import { State, stateWord } from '../../parts/state.js';
import { t } from '../../state/language.js';
import { usePolled } from '../../state/polled.js';
import { linkTo } from '../../state/route.js';
import { ask } from '../../state/server.js';

type Figures = Answer<'GET /overview'>;

const everyMs = 2000;

export function Overview() {
  const { value, error } = usePolled(() => ask('GET /overview'), everyMs, []);
  const rates = useRates(
    'overview',
    value?.time,
    value === undefined ? [] : [value.messagesIn, value.messagesOut, value.messagesFailed, value.cpuMs],
  );
  const [messagesIn = [], messagesOut = [], failed = [], cpu = []] = rates.series;
  return (
    <div class="page">
      <header>
        <h1>{t('overview')}</h1>
      </header>
      {error !== undefined && <p class="notice bad">{error}</p>}
      {value === undefined ? (
        <p class="faint">{t('loading')}</p>
      ) : (
        <>
          <Tiles figures={value} load={(cpu.at(-1) ?? 0) / 10} />
          <div class="halves">
            <section class="card">
              <h2>{`${t('messagesIn')}, ${t('messagesOut')}`}</h2>
              <Chart
                title={t('messagesIn')}
                times={rates.times}
                lines={[
                  { label: t('messagesIn'), colour: '--accent' },
                  { label: t('messagesOut'), colour: '--good' },
                  { label: t('errors'), colour: '--bad' },
                ]}
                series={[messagesIn, messagesOut, failed]}
              />
            </section>
            <Trouble figures={value} />
          </div>
          <div class="halves">
            <Busiest figures={value} />
            {value.losses > 0 && <Losses count={value.losses} />}
          </div>
        </>
      )}
    </div>
  );
}

function Tiles({ figures, load }: { figures: Figures; load: number }) {
  const { rules, connections, memoryUsed, memoryTotal, version, time, upTimeSeconds } = figures;
  const total = Object.values(rules).reduce((sum, count) => sum + count, 0);
  const links = Object.values(connections).reduce((sum, count) => sum + count, 0);
  const up = connections.connected ?? 0;
  const upSince = moment(Math.round((time - upTimeSeconds * 1000) / 60_000) * 60_000);
  const states = Object.entries(rules).map(([state, count]) => `${short(count)} ${t(stateWord(state))}`);
  return (
    <div class="figures">
      <a class="figure" href={linkTo('rules')}>
        {t('rules')}
        <b>{short(total)}</b>
        <span class="faint">{states.join(', ') || t('noRules')}</span>
      </a>
      <div class="figure">
        {t('connections')}
        <b class={up < links ? 'warn' : ''}>{links === 0 ? '–' : `${short(up)} / ${short(links)}`}</b>
        <span class="faint">{links === 0 ? t('noConnections') : t('connectedOf')}</span>
      </div>
      <div class="figure">
        {t('processor')}
        <b>{`${short(Math.round(load))} %`}</b>
        <span class="faint">{t('ofOneProcessor')}</span>
      </div>
      <div class="figure">
        {t('memory')}
        <b>{bytes(memoryUsed)}</b>
        <span class="faint">{t('ofTotal', { n: bytes(memoryTotal) })}</span>
      </div>
      <div class="figure">
        {t('version')}
        <b>{version}</b>
        <span class="faint">{`${t('upTime')} ${upSince}`}</span>
      </div>
    </div>
  );
}

function Trouble({ figures: { trouble, troubled, rules } }: { figures: Figures }) {
  const hasRules = Object.keys(rules).length > 0;
  return (
    <section class="card" aria-label={t('trouble')}>
      <header>
        <h2>{t('trouble')}</h2>
        {troubled > 0 && <span class="tag">{short(troubled)}</span>}
      </header>
      {troubled === 0 && <p class="faint">{t(hasRules ? 'noTrouble' : 'noRules')}</p>}
      <ul class="plain-list">
        {trouble.map(({ id, status, trouble: reasons }) => (
          <li key={id} class="bad-edge">
            <span class="row">
              <a href={linkTo('rules', id)}>{id}</a>
              <State status={status} isTroubled />
            </span>
            {reasons.map((reason) => (
              <span key={reason}>{reason}</span>
            ))}
          </li>
        ))}
      </ul>
      {troubled > trouble.length && <p class="faint">{t('shown', { n: trouble.length, all: troubled })}</p>}
    </section>
  );
}

function Busiest({ figures: { busiest } }: { figures: Figures }) {
  const greatest = Math.max(1, ...busiest.map(({ cpuMs }) => cpuMs));
  return (
    <section class="card">
      <h2>{t('busiest')}</h2>
      <Scroller label={t('busiest')}>
        <table>
          <thead>
            <tr>
              <th>{t('rule')}</th>
              <th class="number">{t('processor')}</th>
              <th class="number">{t('memory')}</th>
            </tr>
          </thead>
          <tbody>
            {busiest.slice(0, 10).map(({ id, cpuMs, memory }) => (
              <tr key={id}>
                <td>
                  <a href={linkTo('rules', id)}>{id}</a>
                  <div class="bar" aria-hidden="true" style={{ width: `${(100 * cpuMs) / greatest}%` }} />
                </td>
                <td class="number">{`${short(cpuMs)} ms`}</td>
                <td class="number">{bytes(memory)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroller>
      <p class="faint">{t('busiestUnit')}</p>
    </section>
  );
}
