/** Dialogues of the console in a browser: what is typed in them is thrown away after a question alone. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ConsoleBrowser, checkLook, hasText, holds, needsBrowser } from '../support/console/browser.js';
import { startServer, temporaryFolder } from '../support/harness.js';

const words = [
  { locale: 'en-GB', name: 'Name', create: 'New', cancel: 'Cancel', ask: 'Discard what you typed?', keep: 'Keep it' },
  { locale: 'zh-CN', name: '名称', create: '新建', cancel: '取消', ask: '放弃您输入的内容？', keep: '保留' },
];
const discards = ['Discard it', '放弃'];

if (needsBrowser('dialogues of the console in a browser')) {
  for (const [i, { locale, name, create, cancel, ask, keep }] of words.entries()) {
    test(`a dialogue asks before it throws away what is typed (${locale})`, async () => {
      const server = await startServer();
      const browser = await ConsoleBrowser.open(server.base);
      const page = await browser.page('sources/streams', { locale });
      const opener = page.getByRole('button', { name: create, exact: true });
      const form = page.getByRole('dialog', { name: `${create}: ` });
      const question = page.getByRole('dialog', { name: ask });
      const field = form.getByLabel(name, { exact: true });
      const isFocused = "document.activeElement.closest('dialog form') !== null";
      // What nobody has typed in is gone at once.
      await opener.click();
      await field.waitFor();
      await page.keyboard.press('Escape');
      await form.waitFor({ state: 'detached' });
      assert.is(await question.count(), 0);
      await opener.click();
      await field.fill('typed');
      // Again and again: browsers close a dialogue at the second Escape, whatever the page wants.
      for (let k = 0; k < 3; k++) {
        await page.keyboard.press('Escape');
        await question.waitFor();
        await page.keyboard.press('Escape');
        await question.waitFor({ state: 'detached' });
        await holds(page, 'the form has the focus', isFocused);
      }
      await form.getByRole('button', { name: cancel, exact: true }).click();
      await question.waitFor();
      if (i === 0) await checkLook(page, 'discard');
      await question.getByRole('button', { name: keep, exact: true }).click();
      await question.waitFor({ state: 'detached' });
      await hasText(field, 'typed');
      await field.press('Escape');
      await question.getByRole('button', { name: discards[i]!, exact: true }).click();
      await form.waitFor({ state: 'detached' });
      await holds(page, 'the opener has the focus', `document.activeElement.innerText === '${create}'`);
      // The next one is new.
      await opener.click();
      await hasText(field, '');
      await page.keyboard.press('Escape');
      await form.waitFor({ state: 'detached' });
      assert.is(await question.count(), 0);
      assert.equal(browser.faults, []);
      await browser.close();
      await server.stop();
    });
  }

  test('a browser that closes a dialogue by itself does not throw away what is typed', async () => {
    const server = await startServer();
    const browser = await ConsoleBrowser.open(server.base);
    const page = await browser.page('sources/streams');
    await page.getByRole('button', { name: 'New' }).click();
    const field = page.getByRole('dialog').getByLabel('Name', { exact: true });
    await field.fill('typed');
    // As the gesture for back does.
    await page.evaluate("document.querySelector('dialog').close()");
    const question = page.getByRole('dialog', { name: 'Discard what you typed?' });
    await question.getByRole('button', { name: 'Keep it' }).click();
    await hasText(field, 'typed');
    // The question goes with what it asks about.
    await field.press('Escape');
    await question.waitFor();
    await page.evaluate("location.hash = '#/settings'");
    await page.getByRole('heading', { name: 'Settings', exact: true }).waitFor();
    await holds(page, 'no dialogue is left', "document.querySelector('dialog') === null");
    assert.equal(browser.faults, []);
    await browser.close();
    await server.stop();
  });

  test('a new login keeps the page, its dialogue and what is typed', async () => {
    const etc = temporaryFolder();
    mkdirSync(join(etc, 'mgmt'));
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    writeFileSync(join(etc, 'mgmt', 'plant'), publicKey.export({ type: 'spki', format: 'pem' }));
    const tokenOf = (claims: object) =>
      new SignJWT({ ...claims })
        .setProtectedHeader({ alg: 'RS256' })
        .setIssuer('plant')
        .setAudience('eKuiper')
        .sign(privateKey);
    const first = await tokenOf({ shift: 'early' });
    const server = await startServer({ args: ['--etc', etc], env: { KUIPER__BASIC__AUTHENTICATION: 'true' } });
    const browser = await ConsoleBrowser.open(server.base);
    const page = await browser.page('sources/streams');
    const logIn = async (token: string) => {
      await page.getByLabel('Token').fill(token);
      await page.getByRole('button', { name: 'Log in' }).click();
    };
    await logIn(first);
    await page.getByRole('button', { name: 'New' }).click();
    const form = page.getByRole('dialog', { name: 'New: ' });
    await form.getByLabel('Type', { exact: true }).selectOption('simulator');
    await form.getByLabel('Name', { exact: true }).fill('demo');
    // Its time is over.
    await page.route('**/*', async (route) => {
      const headers = route.request().headers();
      const isOld = headers.authorization?.includes(first) === true;
      await route.continue(isOld ? { headers: { ...headers, authorization: 'Bearer no.token.this' } } : {});
    });
    await form.getByRole('button', { name: 'Create' }).click();
    const login = page.getByRole('dialog', { name: 'Log in' });
    await login.getByRole('alert').waitFor();
    await checkLook(page, 'new-login');
    // There is nothing behind it that could be done without a login.
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await logIn('no.token.either');
    await login.getByRole('alert').waitFor();
    await logIn(await tokenOf({ shift: 'late' }));
    await login.waitFor({ state: 'detached' });
    await hasText(form.getByLabel('Name', { exact: true }), 'demo');
    await hasText(form.getByLabel('Type', { exact: true }), 'simulator');
    await form.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('cell', { name: 'demo', exact: true }).waitFor();
    // Who logs out leaves nothing on the page.
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByLabel('Token').waitFor();
    assert.is(await page.getByRole('cell', { name: 'demo', exact: true }).count(), 0);
    assert.is(await page.getByRole('dialog').count(), 0);
    await page.unrouteAll({ behavior: 'wait' });
    assert.equal(browser.faults, []);
    await browser.close();
    await server.stop();
  });
}

test.run();
