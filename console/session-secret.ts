/**
 * The part of the session credential that is not in the cookie. Browsers send cookies to every port of a
 * host, but store this secret per origin, which includes the port. The secret is kept until the tab closes, and shared
 * by the tabs of the same origin.
 */
const place = 'animal-store-session-secret';
const header = 'X-Session-Secret';

type Message = { readonly ask: true } | { readonly secret: string };

const channel = new BroadcastChannel(place);

/** Headers that authenticate a request together with the cookie. */
export function sessionHeaders(): Record<string, string> {
  const secret = sessionStorage.getItem(place);
  return secret === null ? {} : { [header]: secret };
}

export function storeSecret(secret: string): void {
  sessionStorage.setItem(place, secret);
  post({ secret });
}

export function removeSecret(): void {
  sessionStorage.removeItem(place);
}

/**
 * Requests the secret from other tabs if this tab has none. Calls `onReceived` for each new secret received.
 */
export function shareSecret(onReceived: () => void): void {
  channel.addEventListener('message', ({ data }: MessageEvent<Message>) => {
    const storedSecret = sessionStorage.getItem(place);
    if ('secret' in data) {
      if (data.secret === storedSecret) return;
      sessionStorage.setItem(place, data.secret);
      onReceived();
    } else if (storedSecret !== null) post({ secret: storedSecret });
  });
  if (sessionStorage.getItem(place) === null) post({ ask: true });
}

function post(message: Message): void {
  channel.postMessage(message);
}
