/** Definitions that not all servers have, or not the same. */
import { useState } from 'preact/hooks';
import type { Answer } from '../../../sdk/client.js';
import { linesOf } from '../../../sdk/differences.js';
import { Lines } from '../../parts/lines.js';
import { t } from '../../state/language.js';
import { usePolled } from '../../state/polled.js';
import { ask } from '../../state/server.js';
import { Group, Silent } from './servers.js';

type Item = Answer<'GET /fleet/differences'>['items'][number];

/** Items that are listed. */
const mostShown = 200;

export function FleetDifferences() {
  const [group, setGroup] = useState('');
  const query = group === '' ? {} : { group };
  const { value, error } = usePolled(() => ask('GET /fleet/differences', { query }), 0, [group]);
  return (
    <section class="card" aria-label={t('differences')}>
      <header>
        <h2>{t('differences')}</h2>
        <Group value={group} onChoice={setGroup} />
      </header>
      {value === undefined && <p class="notice">{error ?? t('loading')}</p>}
      {value !== undefined && (
        <>
          <Silent servers={value.servers} />
          <p class="faint">{t('sameItems', { n: value.same })}</p>
          <ul class="plain-list">
            {value.items.slice(0, mostShown).map((item) => (
              <OneItem key={`${item.section} ${item.name}`} {...item} />
            ))}
          </ul>
          {value.items.length > mostShown && (
            <p class="faint">{t('shown', { n: mostShown, all: value.items.length })}</p>
          )}
        </>
      )}
    </section>
  );
}

function OneItem({ section, name, variants, missing }: Item) {
  const [most, ...others] = variants;
  return (
    <li>
      <details>
        <summary>
          <span class="faint">{section}</span> {name}
          {missing.length > 0 && <span class="warn"> {t('missingOn', { names: missing.join(', ') })}</span>}
        </summary>
        <p class="faint">{t('on', { names: most?.servers.join(', ') ?? '' })}</p>
        <pre>{most?.text}</pre>
        {others.map(({ servers, text }) => (
          <div key={servers[0]}>
            <p class="faint">{t('on', { names: servers.join(', ') })}</p>
            <Lines lines={linesOf(most?.text ?? '', text)} />
          </div>
        ))}
      </details>
    </li>
  );
}
