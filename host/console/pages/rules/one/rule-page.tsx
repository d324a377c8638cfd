/** One rule: what it does now, drawn with its rates; its definition, its plan, its traces. */
import type { Answer } from '../../../../sdk/client.js';
import { Changing } from '../../../parts/changing.js';
import { confirmed } from '../../../parts/dialog.js';
import { tried } from '../../../parts/notices.js';
import { useOnce, useShown } from '../../../parts/once.js';
import { State } from '../../../parts/state.js';
import { t } from '../../../state/language.js';
import { usePolled } from '../../../state/polled.js';
import { goTo, linkTo, route } from '../../../state/route.js';
import { ask } from '../../../state/server.js';
import type { Word } from '../../../state/words.js';
import { useChanges } from './changes.js';
import { Definition } from './definition.js';
import { Errors } from './errors.js';
import { Live } from './live.js';
import { operatorsOf } from './operators.js';
import { Plan } from './plan.js';
import { Traces } from './traces.js';
import { Versions } from './versions.js';

/** What stands out in the status: it waits for something, or a connection is gone. */
function isTroubled(status: Answer<'GET /rules/{id}/status'>): boolean {
  return status.message !== '' || operatorsOf(status).some(({ isAway }) => isAway);
}

const everyMs = 2000;

const tabs: readonly (readonly [name: string, word: Word])[] = [
  ['live', 'live'],
  ['errors', 'errors'],
  ['definition', 'definition'],
  ['versions', 'versions'],
  ['plan', 'plan'],
  ['traces', 'traces'],
];

export function RulePage({ id }: { id: string }) {
  const tab = route.value[2] ?? 'live';
  const { value, error, reload } = usePolled(
    () => ask('GET /rules/{id}/status', { path: { id } }).then((status) => ({ status, time: Date.now() })),
    everyMs,
    [id],
  );
  const changes = useChanges(value);
  const [isBusy, once] = useOnce();
  const isShown = useShown();
  const order = (work: () => Promise<unknown>) =>
    once(async () => {
      await tried(work);
      reload();
    });
  const remove = async () => {
    if (!(await confirmed(t('removeAsk', { n: id }), t('remove')))) return;
    if ((await tried(() => ask('DELETE /rules/{id}', { path: { id } }))) && isShown()) goTo('rules');
  };
  const path = { id };
  const isOn = /^(running|starting)/i.test(value?.status.status ?? '');
  return (
    <div class="page">
      <header>
        <h1>
          <a href={linkTo('rules')}>{t('rules')}</a> / {id}
        </h1>
        {value !== undefined && <State status={value.status.status} isTroubled={isTroubled(value.status)} />}
        <div class="row">
          <Changing>
            <button
              type="button"
              aria-busy={isBusy}
              onClick={() => order(() => ask(isOn ? 'POST /rules/{id}/stop' : 'POST /rules/{id}/start', { path }))}
            >
              {t(isOn ? 'stop' : 'start')}
            </button>
            <button
              type="button"
              aria-busy={isBusy}
              onClick={() => order(() => ask('POST /rules/{id}/restart', { path }))}
            >
              {t('restart')}
            </button>
            <a class="button" href={linkTo('editor', id)}>
              {t('editor')}
            </a>
            <button type="button" class="danger" onClick={() => once(remove)}>
              {t('remove')}
            </button>
          </Changing>
        </div>
      </header>
      <nav class="tabs" aria-label={t('rule')}>
        {tabs.map(([name, word]) => (
          <a
            key={name}
            class="button"
            href={linkTo('rules', id, ...(name === 'live' ? [] : [name]))}
            aria-current={name === tab ? 'page' : undefined}
          >
            {t(word)}
          </a>
        ))}
      </nav>
      {error !== undefined && <p class="notice bad">{error}</p>}
      {tab === 'live' && value !== undefined && <Live id={id} status={value.status} time={value.time} />}
      {tab === 'errors' && value !== undefined && <Errors id={id} status={value.status} changes={changes} />}
      {tab === 'definition' && <Definition id={id} onSaved={reload} />}
      {tab === 'versions' && <Versions id={id} onSaved={reload} />}
      {tab === 'plan' && <Plan id={id} />}
      {tab === 'traces' && <Traces id={id} />}
    </div>
  );
}
