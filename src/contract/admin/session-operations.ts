import { maxSignInBytes } from '../bounds.ts';
import { noContent, type Operation, type Success, shown } from '../operation.ts';
import { NewSession, Session, SignIn } from './sessions.ts';

const created: Success<NewSession> = {
  descriptions: { 201: 'The session: a cookie, and a secret to send with it.' },
  statusOf: () => 201,
  schema: NewSession,
  json: (session) => JSON.stringify(session),
};

export const sessionOperations = {
  createSession: {
    operationId: 'createSession',
    method: 'POST',
    path: '/session',
    tag: 'Sessions',
    summary: 'Sign in',
    description:
      'Trades a token, or the one-time code of a console link, for a session: a cookie, and a secret that the page sends ' +
      'as `X-Session-Secret`. Programs need no session. They send their token with each request.',
    stability: 'beta',
    role: 'anybody',
    repeatable: false,
    body: { schema: SignIn, maxBytes: maxSignInBytes },
    reads: [],
    success: created,
    errors: ['sign_in_failed', 'too_many_sign_ins'],
  },
  getSession: {
    operationId: 'getSession',
    method: 'GET',
    path: '/session',
    tag: 'Sessions',
    summary: 'Get who is signed in',
    description: 'Returns who makes this request.',
    stability: 'beta',
    reads: [],
    success: shown(Session, 'Who is signed in.'),
    errors: [],
  },
  deleteSession: {
    operationId: 'deleteSession',
    method: 'DELETE',
    path: '/session',
    tag: 'Sessions',
    summary: 'Sign out',
    description: 'Ends the session of the cookie.',
    stability: 'beta',
    role: 'viewer',
    reads: [],
    success: noContent('The session has ended.'),
    errors: [],
  },
} as const satisfies Readonly<Record<string, Operation>>;
