// SPDX-License-Identifier: Apache-2.0

// trim-packages.js: in the folder of Argo CD's pages, leaves in package.json only what the bundle needs, and puts in the
// packages that stand for the commit of argo-ui that no registry has. pnpm-lock.yaml fits exactly this package.json.
const fs = require('fs');

const UNUSED = new RegExp(
    '^(@types/|@babel/|babel-|@testing-library/|@eslint/|eslint|typescript-eslint|jest|ts-jest|ts-node|tsx$|codecov$|' +
        'add$|ajv$|prettier|identity-obj-proxy|globals|postcss|raw-loader|webpack-dev-server)'
);
const REACT = {react: '18.3.1', 'react-dom': '18.3.1'}; // React 19 has dropped the context that react-form 2 needs

const wanted = JSON.parse(fs.readFileSync('package.json'));
for (const list of [wanted.dependencies, wanted.devDependencies]) {
    for (const name of Object.keys(list).filter(name => UNUSED.test(name))) {
        delete list[name];
    }
}
for (const name of Object.keys(wanted.pnpm.overrides).filter(name => name.startsWith('@types/'))) {
    delete wanted.pnpm.overrides[name];
}
Object.assign(wanted.dependencies, REACT, {'argo-ui': '1.0.0', 'react-form-2': 'npm:react-form@2.16.3'});
Object.assign(wanted.pnpm.overrides, REACT, {'argo-ui>react-router-dom': '5.3.4'});
delete wanted.packageManager;
fs.writeFileSync('package.json', JSON.stringify(wanted, null, 2));
