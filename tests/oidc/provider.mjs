// The OpenID provider that tests sign in with: oidc-provider, which is certified, with its own
// pages for signing in and consent.
//
//     node provider.mjs PORT REDIRECT_URI ALGORITHM
//
// ALGORITHM signs the ID tokens. HS256 also makes the provider behave as LINE does: names and
// pictures stand in the ID token, the client secret travels in the body, and the announced
// algorithm is another one. Anybody may sign in, under any name. Some names have faulty tokens.

import { createHmac, generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import Provider from 'oidc-provider';

const [port, redirectUri, algorithm] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const secret = 'a-client-secret-that-is-long-enough-for-hs256';
const likeLine = algorithm === 'HS256';
const authMethod = likeLine ? 'client_secret_post' : 'client_secret_basic';

// New keys at every start.
const keys = [
  generateKeyPairSync('rsa', { modulusLength: 2048 }),
  generateKeyPairSync('ec', { namedCurve: 'P-256' }),
].map(({ privateKey }) => ({ ...privateKey.export({ format: 'jwk' }), use: 'sig' }));

const provider = new Provider(issuer, {
  clients: [{
    client_id: 'chatkeep',
    client_secret: secret,
    redirect_uris: [redirectUri],
    id_token_signed_response_alg: algorithm,
    token_endpoint_auth_method: authMethod,
  }],
  clientAuthMethods: [authMethod],
  enabledJWA: { idTokenSigningAlgValues: ['RS256', 'ES256', 'HS256'] },
  jwks: { keys },
  pkce: { required: () => true },
  scopes: ['openid', 'profile'],
  claims: { openid: ['sub'], profile: ['name', 'picture'] },
  conformIdTokenClaims: !likeLine,
  cookies: { keys: ['tests'] },
  findAccount: (_context, id) => ({
    accountId: id,
    claims: () => ({ sub: id, name: `${id} 王`, picture: `https://pictures.example.org/${id}` }),
  }),
});

// The codes of one person are never redeemed in time.
Object.defineProperty(provider.AuthorizationCode.prototype, 'isExpired', {
  get() { return this.accountId === 'late' || this.exp <= Date.now() / 1000; },
});

// What is wrong with the ID tokens of whom.
const faults = {
  'wrong-nonce': (claims) => ({ ...claims, nonce: 'another' }),
  'no-nonce': ({ nonce: _, ...claims }) => claims,
  'wrong-audience': (claims) => ({ ...claims, aud: 'somebody-else' }),
  'wrong-issuer': (claims) => ({ ...claims, iss: 'https://issuer.example.org' }),
  'expired-token': (claims) => ({ ...claims, exp: claims.iat - 1 }),
};
const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');

function spoil(token) {
  const claims = JSON.parse(Buffer.from(token.split('.')[1], 'base64url'));
  const wrong = (faults[claims.sub] ?? ((same) => same))(claims);
  if (claims.sub === 'unsigned') return `${encode({ alg: 'none' })}.${encode(wrong)}.`;
  if (!(claims.sub in faults) && claims.sub !== 'wrong-signature') return token;
  const text = `${encode({ alg: 'HS256' })}.${encode(wrong)}`;
  const key = claims.sub === 'wrong-signature' ? 'another secret' : secret;
  return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;
}

provider.use(async (context, next) => {
  await next();
  if (context.oidc?.route === 'token' && context.body.id_token) {
    context.body.id_token = spoil(context.body.id_token);
  }
  if (context.oidc?.route === 'discovery' && likeLine) {
    context.body.id_token_signing_alg_values_supported = ['ES256'];
  }
});

// As if idle connections were closed just when a code is sent on them: nobody can tell then whether it
// arrived, so it has to come on a new one.
const [served, answer] = [new WeakSet(), provider.callback()];
const server = createServer((request, response) => {
  if (request.url === '/token' && served.has(request.socket)) return request.socket.destroy();
  served.add(request.socket);
  return answer(request, response);
});
server.listen(port, '127.0.0.1', () => console.log('provider is ready'));
