/** What went wrong in a rule: errors by operator, rows that fail, messages that could not go out, what is lost. */

import type { Answer } from '../../../../sdk/client.js';
import { Losses } from '../../../parts/losses.js';
import { exactMoment, moment, short } from '../../../parts/numbers.js';
import { Scroller } from '../../../parts/scroller.js';
import { t } from '../../../state/language.js';
import { usePolled } from '../../../state/polled.js';
import { ask } from '../../../state/server.js';
import { type Change, Changes } from './changes.js';
import { Letters } from './letters.js';
import { labelOf, operatorsOf } from './operators.js';

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
      <ErrorRows id={id} />
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

const rowsEveryMs = 3000;

/** The last rows at which the rule failed, as the server keeps them. */
function ErrorRows({ id }: { id: string }) {
  const { value: rows, error } = usePolled(() => ask('GET /rules/{id}/errors', { path: { id } }), rowsEveryMs, [id]);
  return (
    <section class="card" aria-label={t('errorRows')}>
      <h2>{t('errorRows')}</h2>
      <p class="faint">{t('errorRowsHint')}</p>
      {error !== undefined && (
        <p class="notice bad" role="alert">
          {error}
        </p>
      )}
      {rows?.length === 0 && <p class="faint">{t('noErrorRows')}</p>}
      {rows !== undefined && rows.length > 0 && (
        <Scroller label={t('errorRows')}>
          <table>
            <thead>
              <tr>
                <th>{t('time')}</th>
                <th>{t('operator')}</th>
                <th>{t('reason')}</th>
                <th>{t('row')}</th>
              </tr>
            </thead>
            <tbody>
              {rows.map(({ operator, at, reason, row }, i) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: they have a place in the list alone
                <tr key={i}>
                  <td class="time">{exactMoment(at)}</td>
                  <td title={operator}>{labelOf(operator)}</td>
                  <td class="long bad">{reason}</td>
                  <td class="long">
                    {row === undefined ? (
                      <span class="faint">{t('rowUnknown')}</span>
                    ) : (
                      <code>{JSON.stringify(row)}</code>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroller>
      )}
    </section>
  );
}
