// SPDX-License-Identifier: Apache-2.0

import * as React from 'react';
import {Helmet} from 'react-helmet';
import {DataLoader} from '../data-loader';
import {TopBar} from '../top-bar/top-bar';
import {Utils} from '../utils';

require('./page.scss');

export const PageContext = React.createContext({title: 'Argo'});

// 1.0.0 has no buttons with a menu: the actions below a button become buttons after it.
const flat = (toolbar: any) => {
    if (!toolbar || !toolbar.actionMenu) {
        return toolbar;
    }
    const items: any[] = [];
    for (const item of toolbar.actionMenu.items) {
        items.push(item, ...(item.subActions || []));
    }
    return {...toolbar, actionMenu: {...toolbar.actionMenu, items}};
};

export const Page = (props: {title: string; topBarTitle?: string; useTitleOnly?: boolean; toolbar?: any; children?: React.ReactNode}) => {
    const ctx = React.useContext(PageContext);
    return (
        <div className={'page' + (props.toolbar ? ' page--has-toolbar' : '')}>
            {props.toolbar && (
                <DataLoader input={new Date()} noLoaderOnInputChange={true} load={() => Utils.toObservable(props.toolbar)}>
                    {(toolbar: any) => {
                        const crumbs = (!props.useTitleOnly && toolbar && toolbar.breadcrumbs) || [];
                        const title = crumbs.length > 0 ? [...crumbs].map((c: any) => c.title).reverse().join(' / ') : props.title;
                        return (
                            <React.Fragment>
                                <Helmet>
                                    <title>{[title, ctx.title].filter(Boolean).join(' - ')}</title>
                                </Helmet>
                                <div className='page__top-bar'>
                                    <TopBar title={props.topBarTitle || props.title} toolbar={flat(toolbar)} />
                                </div>
                            </React.Fragment>
                        );
                    }}
                </DataLoader>
            )}
            <div className='page__content-wrapper'>{props.children}</div>
        </div>
    );
};
