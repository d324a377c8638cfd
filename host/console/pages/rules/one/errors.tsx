/** What went wrong in a rule: errors by operator, rows that fail, messages that could not go out, what is lost. */

import type { Answer } from '../../../../sdk/client.js';
import { Changing } from '../../../parts/changing.js';
import { Losses } from '../../../parts/losses.js';
import { clock, moment, short } from '../../../parts/numbers.js';
import { Scroller } from '../../../parts/scroller.js';
import { t } from '../../../state/language.js';
import { usePolled } from '../../../state/polled.js';
import { ask } from '../../../state/server.js';
import { type Arrived, useRun } from '../../playground/run.js';
import { type Change, Changes } from './changes.js';
import { Letters } from './letters.js';
import { operatorsOf } from './operators.js';

type Rule = Answer<'GET /rules/{id}'>;
type Status = Answer<'GET /rules/{id}/status'>;

interface ErrorsProps {
  readonly id: string;
  readonly status: Status;
  readonly changes: readonly Change[];
}

export function Errors({ id, status, changes }: ErrorsProps) {
  const { value: rule, error, reload } = usePolled(() => ask('GET /rules/{id}', { path: { id } }), 0, [id]);
  return (
    <>
      <ByOperator status={status} />
      {error !== undefined && <p class="notice bad">{error}</p>}
      {rule?.sql !== undefined && rule.sql !== '' && <ErrorRows rule={rule} />}
      {rule?.actions !== undefined && <Letters id={id} rule={rule} status={status} onChanged={reload} />}
      <Losses count={0} rule={id} />
      <Changes status={status} changes={changes} />
    </>
  );
}

function ByOperator({ status }: { status: Status }) {
  const failing = operatorsOf(status).filter(({ errors, lastError }) => errors > 0 || lastError !== '');
  return (
    <section class="card" aria-label={t('errorsByOperator')}>
      <h2>{t('errorsByOperator')}</h2>
      {failing.length === 0 && <p class="faint">{t('noErrors')}</p>}
      {failing.length > 0 && (
        <Scroller label={t('errorsByOperator')}>
          <table>
            <thead>
              <tr>
                <th>{t('operator')}</th>
                <th class="number">{t('errors')}</th>
                <th>{t('time')}</th>
                <th>{t('lastError')}</th>
              </tr>
            </thead>
            <tbody>
              {failing.map(({ name, label, errors, lastError, lastErrorAt }) => (
                <tr key={name}>
                  <td title={name}>{label}</td>
                  <td class="number bad">{short(errors)}</td>
                  <td class="time">{lastErrorAt > 0 ? moment(lastErrorAt) : ''}</td>
                  <td class="long">{lastError}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroller>
      )}
    </section>
  );
}

const isErrorRow = ({ isError }: Arrived) => isError;

/** Rows that fail, as they come: the statement runs once more beside the rule, on the same streams. */
function ErrorRows({ rule: { sql = '', options } }: { rule: Rule }) {
  const run = useRun(isErrorRow);
  return (
    <section class="card" aria-label={t('errorRows')}>
      <header>
        <h2>{t('errorRows')}</h2>
        <Changing>
          <button
            type="button"
            onClick={() => (run.isOn ? run.stop() : run.start({ sql, ...(options && { options }) }))}
          >
            {t(run.isOn ? 'stop' : 'watch')}
          </button>
        </Changing>
      </header>
      <p class="faint">{t('errorRowsHint')}</p>
      {run.error !== undefined && (
        <p class="notice bad" role="alert">
          {run.error}
        </p>
      )}
      {run.note !== '' && <p class="notice">{run.note}</p>}
      {run.isOn && run.count === 0 && <p class="faint">{t('noErrorRows')}</p>}
      <div role="log" aria-label={t('errorRows')}>
        <ol class="plain-list">
          {run.rows.map(({ number, time, row }) => (
            <li key={number} class="bad-edge">
              <span class="faint">{clock(time)}</span>
              <span>{String(row.error)}</span>
            </li>
          ))}
        </ol>
      </div>
    </section>
  );
}
