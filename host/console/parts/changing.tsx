/** What changes something: it can't be used with a token that may only read. */
import type { ComponentChildren } from 'preact';
import { t } from '../state/language.js';
import { isReadOnly } from '../state/server.js';

export function Changing({ children }: { children: ComponentChildren }) {
  if (!isReadOnly.value) return <>{children}</>;
  return (
    <fieldset class="changing" disabled title={t('readOnly')}>
      {children}
    </fieldset>
  );
}
