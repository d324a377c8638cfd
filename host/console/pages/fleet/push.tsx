/** A ruleset for a group: what it would change where, and then the change. */
import { useState } from 'preact/hooks';
import type { Answer } from '../../../sdk/client.js';
import { Changing } from '../../parts/changing.js';
import { confirmed } from '../../parts/dialog.js';
import { Scroller } from '../../parts/scroller.js';
import { useKeptState } from '../../state/kept.js';
import { t } from '../../state/language.js';
import { ask, reasonOf } from '../../state/server.js';
import type { Word } from '../../state/words.js';
import { Item } from '../transfer/changes.js';
import { Group } from './servers.js';

type Pushed = Answer<'POST /fleet/push'>;

const outcomes: Readonly<Record<Pushed['outcome'], Word>> = {
  dryRun: 'pushDryRun',
  done: 'pushDone',
  stopped: 'pushStopped',
  failed: 'pushFailed',
};
const states: Readonly<Record<Pushed['servers'][number]['state'], readonly [word: Word, look: string]>> = {
  same: ['pushSame', 'faint'],
  wouldChange: ['pushWouldChange', ''],
  changed: ['pushChanged', 'good'],
  untouched: ['pushUntouched', 'faint'],
  refused: ['pushRefused', 'bad'],
  away: ['pushAway', 'bad'],
  reverted: ['pushReverted', 'warn'],
  notReverted: ['pushNotReverted', 'bad'],
};

export function FleetPush() {
  const [content, setContent] = useKeptState('push', '');
  const [group, setGroup] = useState('');
  const [skipAway, setSkip] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [pushed, setPushed] = useState<Pushed>();
  const [error, setError] = useState('');
  const give = async (isDry: boolean) => {
    const what = group === '' ? t('allGroups') : group;
    if (!isDry && !(await confirmed(t('pushAsk', { n: what }), t('push')))) return;
    setBusy(true);
    setError('');
    setPushed(undefined);
    const body = { content, skipAway, ...(group === '' ? {} : { group }) };
    await ask('POST /fleet/push', { query: isDry ? { dryRun: 'true' } : {}, body })
      .then(setPushed)
      .catch((refused: unknown) => setError(reasonOf(refused)));
    setBusy(false);
  };
  return (
    <>
      <section class="card" aria-label={t('fleetPush')}>
        <header>
          <h2>{t('fleetPush')}</h2>
          <Group value={group} onChoice={setGroup} />
        </header>
        <label class="field">
          {t('ruleset')}
          <textarea
            class="mono"
            rows={8}
            spellcheck={false}
            value={content}
            onInput={(event) => setContent(event.currentTarget.value)}
          />
        </label>
        <label class="field">
          {t('file')}
          <input
            type="file"
            accept=".json"
            onChange={async (event) => setContent((await event.currentTarget.files?.[0]?.text()) ?? '')}
          />
        </label>
        <label class="row">
          <input type="checkbox" checked={skipAway} onChange={() => setSkip(!skipAway)} />
          {t('skipAway')}
        </label>
        {error !== '' && (
          <p class="notice bad" role="alert">
            {error}
          </p>
        )}
        <div class="row">
          <Changing>
            <button type="button" disabled={isBusy || content === ''} onClick={() => void give(true)}>
              {t('dryRun')}
            </button>
            <button type="button" class="main" disabled={isBusy || content === ''} onClick={() => void give(false)}>
              {t('push')}
            </button>
          </Changing>
        </div>
      </section>
      {pushed !== undefined && <Results {...pushed} />}
    </>
  );
}

function Results({ outcome, servers }: Pushed) {
  return (
    <section class="card" aria-label={t('differences')}>
      <p role="status" class={`notice ${outcome === 'failed' || outcome === 'stopped' ? 'bad' : ''}`}>
        {t(outcomes[outcome])}
      </p>
      <Scroller label={t('fleetServers')}>
        <table>
          <tbody>
            {servers.map(({ name, state, reason, differences }) => (
              <tr key={name}>
                <td>{name}</td>
                <td class={states[state][1]}>{t(states[state][0])}</td>
                <td class="long">
                  {reason !== undefined && <p class="bad">{reason}</p>}
                  <ul class="plain-list">
                    {differences.map((one) => (
                      <Item key={`${one.section} ${one.name}`} {...one} />
                    ))}
                  </ul>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroller>
    </section>
  );
}
