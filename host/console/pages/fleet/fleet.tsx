/** Other servers seen from this one: how they are, what runs where, who differs, and rules for all of them. */
import { useState } from 'preact/hooks';
import { Scroller } from '../../parts/scroller.js';
import { State } from '../../parts/state.js';
import { type Tab, Tabs } from '../../parts/tabs.js';
import { t } from '../../state/language.js';
import { usePolled } from '../../state/polled.js';
import { ask } from '../../state/server.js';
import { FleetDifferences } from './differences.js';
import { FleetPush } from './push.js';
import { Group, Silent } from './servers.js';

const everyMs = 10_000;

const tabs: readonly [Tab, ...Tab[]] = [
  { path: 'servers', word: 'fleetServers', show: Servers },
  { path: 'rules', word: 'fleetRules', show: Rules },
  { path: 'differences', word: 'differences', show: FleetDifferences },
  { path: 'push', word: 'fleetPush', show: FleetPush },
];

export function Fleet() {
  return <Tabs title="fleet" tabs={tabs} />;
}

function Servers() {
  const { value = [], error } = usePolled(() => ask('GET /fleet'), everyMs, []);
  return (
    <section class="card" aria-label={t('fleetServers')}>
      <h2>{t('fleetServers')}</h2>
      {error !== undefined && <p class="notice">{error}</p>}
      {value.length > 0 && (
        <Scroller label={t('fleetServers')}>
          <table>
            <thead>
              <tr>
                <th>{t('name')}</th>
                <th>{t('state')}</th>
                <th>{t('groups')}</th>
                <th>{t('version')}</th>
                <th>{t('rules')}</th>
                <th class="number">{t('trouble')}</th>
              </tr>
            </thead>
            <tbody>
              {value.map(({ name, url, groups, reason, overview }) => (
                <tr key={name}>
                  <td>
                    <a href={`${url}/console/`} rel="noreferrer" target="_blank">
                      {name}
                    </a>
                  </td>
                  <td class={reason === undefined ? '' : 'bad'}>{reason ?? t('isThere')}</td>
                  <td>
                    {groups.map((group) => (
                      <span key={group} class="tag">
                        {group}
                      </span>
                    ))}
                  </td>
                  <td>{overview?.version}</td>
                  <td>
                    {Object.entries(overview?.rules ?? {}).map(([state, count]) => (
                      <span key={state}>
                        {count} <State status={state} />{' '}
                      </span>
                    ))}
                  </td>
                  <td class={`number ${(overview?.troubled ?? 0) > 0 ? 'bad' : ''}`}>{overview?.troubled}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroller>
      )}
    </section>
  );
}

function Rules() {
  const [group, setGroup] = useState('');
  const query = group === '' ? {} : { group };
  const { value, error } = usePolled(() => ask('GET /fleet/rules', { query }), everyMs, [group]);
  const names = value?.servers.filter(({ reason }) => reason === undefined).map(({ name }) => name) ?? [];
  return (
    <section class="card" aria-label={t('fleetRules')}>
      <header>
        <h2>{t('fleetRules')}</h2>
        <Group value={group} onChoice={setGroup} />
      </header>
      {value === undefined && <p class="notice">{error ?? t('loading')}</p>}
      {value !== undefined && (
        <>
          <Silent servers={value.servers} />
          <Scroller label={t('fleetRules')}>
            <table>
              <thead>
                <tr>
                  <th>{t('rule')}</th>
                  <th>{t('sameEverywhere')}</th>
                  {names.map((name) => (
                    <th key={name}>{name}</th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {value.rules.map(({ id, isSame, on }) => (
                  <tr key={id}>
                    <td>{id}</td>
                    <td class={isSame ? '' : 'warn'}>{t(isSame ? 'yes' : 'notSame')}</td>
                    {names.map((name) => {
                      const found = on.find(({ server }) => server === name);
                      return (
                        <td key={name}>
                          {found !== undefined && <State status={found.status} />}
                          {found !== undefined && !isSame && (
                            <span class="faint"> {t('textNumber', { n: found.variant })}</span>
                          )}
                        </td>
                      );
                    })}
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroller>
        </>
      )}
    </section>
  );
}
