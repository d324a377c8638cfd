/** Reports of benchmarks and soaks that lie in the data folder of the server. */
import { bytes, moment } from '../../parts/numbers.js';
import { Scroller } from '../../parts/scroller.js';
import { t } from '../../state/language.js';
import { usePolled } from '../../state/polled.js';
import { linkTo, route } from '../../state/route.js';
import { ask } from '../../state/server.js';
import type { Word } from '../../state/words.js';
import { Report } from './report.js';

const everyMs = 5000;

const kinds: Readonly<Record<string, Word>> = { bench: 'benchReport', soak: 'soakReport' };

export function Reports() {
  const [, name] = route.value;
  return name === undefined ? <ReportList /> : <Report name={name} />;
}

function ReportList() {
  const { value: reports, error } = usePolled(() => ask('GET /reports'), everyMs, []);
  return (
    <div class="page">
      <header>
        <h1>{t('reports')}</h1>
      </header>
      {error !== undefined && <p class="notice bad">{error}</p>}
      <section class="card">
        <p class="faint">{t('reportsHint')}</p>
        {reports?.length === 0 && <p class="faint">{t('none')}</p>}
        {reports !== undefined && reports.length > 0 && (
          <Scroller label={t('reports')}>
            <table>
              <thead>
                <tr>
                  <th>{t('name')}</th>
                  <th>{t('kind')}</th>
                  <th>{t('time')}</th>
                  <th class="number">{t('size')}</th>
                </tr>
              </thead>
              <tbody>
                {reports.map((one) => (
                  <tr key={one.name}>
                    <td>
                      <a href={linkTo('reports', one.name)}>{one.name}</a>
                    </td>
                    <td class="time">{t(kinds[one.kind] ?? 'otherReport')}</td>
                    <td class="time">{moment(one.at)}</td>
                    <td class="number">{bytes(one.bytes)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroller>
        )}
      </section>
    </div>
  );
}
