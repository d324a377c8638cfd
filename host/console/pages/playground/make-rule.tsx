/** Makes a rule of a statement: its name, and where its results go. */
import { useState } from 'preact/hooks';
import { Cancel, Dialog } from '../../parts/dialog.js';
import { type Sink, SinkForm } from '../../parts/forms/sink-form.js';
import { useOnce, useShown } from '../../parts/once.js';
import { t } from '../../state/language.js';
import { goTo } from '../../state/route.js';
import { ask, reasonOf } from '../../state/server.js';

export function MakeRule({ sql, onClose }: { sql: string; onClose: () => void }) {
  const [id, setId] = useState('');
  const [sink, setSink] = useState<Sink>();
  const [error, setError] = useState('');
  const [isBusy, once] = useOnce();
  const isShown = useShown();
  const make = async () => {
    try {
      await ask('POST /rules', { body: { id, sql, actions: [sink?.action() ?? { log: {} }] } });
      if (!isShown()) return;
      onClose();
      goTo('rules', id);
    } catch (refused) {
      setError(reasonOf(refused));
    }
  };
  return (
    <Dialog title={t('makeRule')} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          once(make);
        }}
      >
        <pre class="notice">{sql}</pre>
        <label class="field">
          {t('name')}
          <input required pattern="[A-Za-z0-9_\-]+" value={id} onInput={(event) => setId(event.currentTarget.value)} />
        </label>
        <SinkForm onChange={setSink} />
        {error !== '' && (
          <p class="notice bad" role="alert">
            {error}
          </p>
        )}
        <div class="row end">
          <Cancel />
          <button type="submit" class="main" aria-busy={isBusy}>
            {t('create')}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
