/** Where the server wants a token: asks for one. */
import { useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog.js';
import { t } from '../state/language.js';
import { logIn, loginReason, token } from '../state/server.js';

/** In the place of a page. */
export function Login() {
  return (
    <div class="card login">
      <h1>{t('login')}</h1>
      <LoginForm />
    </div>
  );
}

/** Over a page that was let in before: it stays, with what is typed in it. */
export function NewLogin() {
  return (
    <Dialog title={t('login')}>
      <LoginForm />
    </Dialog>
  );
}

function LoginForm() {
  const [text, setText] = useState('');
  const { value: reason } = loginReason;
  const isRefused = token.value !== undefined && reason !== '';
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        logIn(text.trim().replace(/^Bearer +/i, ''));
      }}
    >
      {isRefused && (
        <p class="notice bad" role="alert">
          {t('tokenRefused', { why: reason ?? '' })}
        </p>
      )}
      <label class="field">
        {t('token')}
        <textarea
          class="mono"
          rows={5}
          required
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <span class="hint faint">{t('tokenHint')}</span>
      </label>
      <div class="row end">
        <button type="submit" class="main">
          {t('login')}
        </button>
      </div>
    </form>
  );
}
