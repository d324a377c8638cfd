/** What became of a rule: its last start and stop, and each change of its state that this page has seen. */
import { useRef } from 'preact/hooks';
import type { Answer } from '../../../../sdk/client.js';
import { moment } from '../../../parts/numbers.js';
import { State } from '../../../parts/state.js';
import { t } from '../../../state/language.js';
import { operatorsOf } from './operators.js';

type Status = Answer<'GET /rules/{id}/status'>;

export interface Change {
  readonly time: number;
  readonly status: string;
  readonly message: string;
}

/** Changes kept: the last ones. */
const most = 50;

/** Notes each change of the state or of what it says; the newest comes first. */
export function useChanges(found: { readonly status: Status; readonly time: number } | undefined): readonly Change[] {
  const seen = useRef<readonly Change[]>([]);
  if (found === undefined) return seen.current;
  const { time, status: now } = found;
  const message = messageOf(now);
  const [last] = seen.current;
  // Sentences have numbers that grow: only another sentence is a change.
  const isSame = last?.status === now.status && worded(last.message) === worded(message);
  if (!isSame) seen.current = [{ time, status: now.status, message }, ...seen.current].slice(0, most);
  return seen.current;
}

/** What stands out: what the rule says, or which of its connections are gone. */
function messageOf(status: Status): string {
  const away = operatorsOf(status).filter(({ isAway }) => isAway);
  const gone = away.map(({ label, awayBecause }) => `${label}: ${awayBecause || t('notConnected')}`);
  return status.message || status.ended || gone.join('; ');
}

const worded = (text: string) => text.replace(/\d+/g, '0');

export function Changes({ status, changes }: { status: Status; changes: readonly Change[] }) {
  const { lastStartTimestamp, lastStopTimestamp, nextStartTimestamp } = status;
  const times = [
    [t('lastStart'), lastStartTimestamp],
    [t('lastStop'), lastStopTimestamp],
    [t('nextStart'), nextStartTimestamp],
  ] as const;
  return (
    <section class="card" aria-label={t('statusHistory')}>
      <h2>{t('statusHistory')}</h2>
      <dl class="facts">
        {times
          .filter(([, time]) => time > 0)
          .map(([name, time]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{moment(time)}</dd>
            </div>
          ))}
      </dl>
      <p class="faint">{t('sinceOpened')}</p>
      <div role="log" aria-label={t('statusHistory')}>
        <ol class="plain-list">
          {changes.map((change) => (
            <li key={change.time} class={change.message === '' ? '' : 'bad-edge'}>
              <span class="row">
                <span class="faint">{moment(change.time)}</span>
                <State status={change.status} isTroubled={change.message !== ''} />
              </span>
              {change.message !== '' && <span>{change.message}</span>}
            </li>
          ))}
        </ol>
      </div>
    </section>
  );
}
